// biome-ignore-all lint/suspicious/noArrayIndexKey: a document does not change while it is shown
import { marked, type Token, type Tokens } from "marked";
import { Fragment, type ReactNode, useMemo } from "react";

/**
 * Markdown as React elements. Nothing of it becomes HTML text, so a document cannot bring markup or scripts of its own;
 * links lead only to http and https pages.
 */
export function Markdown({ text }: { text: string }) {
  const tokens = useMemo(() => marked.lexer(text), [text]);
  return <div className="markdown">{blocks(tokens)}</div>;
}

function blocks(tokens: readonly Token[]): ReactNode {
  return tokens.map((token, at) => <Fragment key={`${at}${token.type}`}>{block(token)}</Fragment>);
}

function block(token: Token): ReactNode {
  switch (token.type) {
    case "heading":
      return <h4>{inline(token.tokens)}</h4>;
    case "paragraph":
      return <p>{inline(token.tokens)}</p>;
    case "text":
      return inline(token.tokens ?? [token]);
    case "code":
      return <pre className="mono">{(token as Tokens.Code).text}</pre>;
    case "blockquote":
      return <blockquote>{blocks(token.tokens ?? [])}</blockquote>;
    case "list": {
      const list = token as Tokens.List;
      const items = list.items.map((item, at) => <li key={`${at}${item.raw}`}>{blocks(item.tokens)}</li>);
      return list.ordered ? <ol>{items}</ol> : <ul>{items}</ul>;
    }
    case "table": {
      const table = token as Tokens.Table;
      return (
        <table>
          <thead>
            <tr>
              {table.header.map((cell, at) => (
                <th key={`${at}${cell.text}`}>{inline(cell.tokens)}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {table.rows.map((row, at) => (
              <tr key={`${at}${row[0]?.text ?? ""}`}>
                {row.map((cell, column) => (
                  <td key={`${column}${cell.text}`}>{inline(cell.tokens)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      );
    }
    case "hr":
      return <hr />;
    case "space":
    case "def":
      return null;
    default:
      return <p>{token.raw}</p>;
  }
}

function inline(tokens: readonly Token[] | undefined): ReactNode {
  return (tokens ?? []).map((token, at) => <Fragment key={`${at}${token.type}`}>{span(token)}</Fragment>);
}

function span(token: Token): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inline(token.tokens)}</strong>;
    case "em":
      return <em>{inline(token.tokens)}</em>;
    case "del":
      return <del>{inline(token.tokens)}</del>;
    case "codespan":
      return <code className="mono">{plain((token as Tokens.Codespan).text)}</code>;
    case "br":
      return <br />;
    case "link": {
      const { href } = token as Tokens.Link;
      if (!/^https?:\/\//i.test(href)) return inline(token.tokens);
      return (
        <a href={href} target="_blank" rel="noreferrer noopener">
          {inline(token.tokens)}
        </a>
      );
    }
    case "image":
      return (token as Tokens.Image).text;
    case "text":
      return token.tokens === undefined ? plain((token as Tokens.Text).text) : inline(token.tokens);
    case "escape":
      return (token as Tokens.Escape).text;
    default:
      return token.raw;
  }
}

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

/** The lexer may have escaped a text for HTML, which React does itself. */
function plain(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (whole, name: string) => ENTITIES[name] ?? whole);
}
