// biome-ignore-all lint/suspicious/noArrayIndexKey: the parts of a text keep their order

/** One line of text whose `parts in backticks` are code. */
export function CodeText({ text }: { text: string }) {
  return text.split(/`([^`]+)`/).map((part, i) =>
    i % 2 === 0 ? (
      part
    ) : (
      <code key={i} className="mono">
        {part}
      </code>
    ),
  );
}

/** The same where only plain text can stand, such as a title. */
export function plainText(text: string | undefined): string | undefined {
  return text?.replace(/`([^`]+)`/g, "$1");
}
