// A field with a list under it: what is typed filters, the arrows choose, Enter takes. The palette and the wire list are
// made of it.
import {
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { Icon } from "../ui/Icon";

export interface ChoiceItem {
  id: string;
  /** Said before the first item of a part. */
  part?: string;
  content: ReactNode;
  disabled?: boolean;
}

interface Props {
  label: string;
  query: string;
  onQuery: (query: string) => void;
  items: readonly ChoiceItem[];
  /** Said when there are none. */
  none: string;
  onChoose: (id: string) => void;
  onPoint?: (id: string | null) => void;
  onClose: () => void;
  foot?: ReactNode;
}

export function ChoiceList({ label, query, onQuery, items, none, onChoose, onPoint, onClose, foot }: Props) {
  const [at, setAt] = useState(0);
  const listId = useId();
  const box = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const open = items.filter((item) => item.disabled !== true);
  const current = open[Math.min(at, open.length - 1)];
  const currentId = current?.id ?? null;
  // An id of an element holds no spaces.
  const elementId = (id: string) => `${listId}-${items.findIndex((item) => item.id === id)}`;
  const currentElement = currentId === null ? undefined : elementId(currentId);
  // Before anything is painted: the next key belongs here.
  useLayoutEffect(() => {
    const before = document.activeElement;
    input.current?.focus();
    return () => {
      if (before instanceof HTMLElement && document.activeElement === document.body) before.focus();
    };
  }, []);
  useEffect(() => {
    const outside = (event: PointerEvent) => {
      if (event.target instanceof Node && box.current?.contains(event.target) === false) onClose();
    };
    document.addEventListener("pointerdown", outside, true);
    return () => document.removeEventListener("pointerdown", outside, true);
  }, [onClose]);
  useEffect(() => onPoint?.(currentId), [currentId, onPoint]);
  useEffect(() => {
    if (currentElement === undefined) return;
    document.getElementById(currentElement)?.scrollIntoView({ block: "nearest" });
  }, [currentElement]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const step = event.key === "ArrowDown" ? 1 : -1;
      if (open.length > 0) {
        setAt((before) => (Math.min(before, open.length - 1) + step + open.length) % open.length);
      }
    } else if (event.key === "Enter") {
      if (current !== undefined) onChoose(current.id);
    } else if (event.key === "Escape") {
      onClose();
    } else if (event.key !== "Tab") {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div ref={box} className="search choice" role="dialog" aria-label={label} onKeyDown={onKeyDown}>
      <div className="search-head">
        <Icon name="search" className="ink-3" />
        <input
          ref={input}
          value={query}
          onChange={(event) => {
            onQuery(event.target.value);
            setAt(0);
          }}
          placeholder={label}
          aria-label={label}
          role="combobox"
          aria-expanded="true"
          aria-controls={listId}
          aria-activedescendant={currentElement}
          autoComplete="off"
          spellCheck={false}
        />
      </div>
      <div className="search-list choice-list" id={listId} role="listbox" aria-label={label}>
        {items.map((item) => (
          <Row
            key={item.id}
            item={item}
            id={elementId(item.id)}
            current={item.id === currentId}
            onPoint={() => {
              const index = open.indexOf(item);
              if (index >= 0) setAt(index);
            }}
            onChoose={() => onChoose(item.id)}
          />
        ))}
        {items.length === 0 && <p className="search-none">{none}</p>}
      </div>
      {foot !== undefined && <div className="search-foot">{foot}</div>}
    </div>
  );
}

interface RowProps {
  item: ChoiceItem;
  id: string;
  current: boolean;
  onPoint: () => void;
  onChoose: () => void;
}

function Row({ item, id, current, onPoint, onChoose }: RowProps) {
  return (
    <>
      {item.part !== undefined && <p className="search-group">{item.part}</p>}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the combobox has the keys */}
      {/* biome-ignore lint/a11y/useFocusableInteractive: focus stays in the combobox */}
      <div
        id={id}
        className="search-option"
        role="option"
        aria-selected={current}
        aria-disabled={item.disabled}
        onPointerMove={onPoint}
        onClick={item.disabled === true ? undefined : onChoose}
      >
        {item.content}
      </div>
    </>
  );
}
