import { useTranslation } from "react-i18next";
import { Icon, type IconName } from "./Icon";

/** Every state that a run, a node or a worker can be in. */
export type StateName =
  | "queued"
  | "running"
  | "disconnected"
  | "succeeded"
  | "reused"
  | "failed"
  | "skipped"
  | "cancelled"
  | "interrupted";

const LOOK: Record<StateName, { icon: IconName; tone: string }> = {
  queued: { icon: "queued", tone: "ink-3" },
  running: { icon: "running", tone: "live" },
  disconnected: { icon: "disconnected", tone: "warn" },
  succeeded: { icon: "succeeded", tone: "ok" },
  reused: { icon: "reused", tone: "ok" },
  failed: { icon: "failed", tone: "bad" },
  skipped: { icon: "offline", tone: "ink-3" },
  cancelled: { icon: "cancelled", tone: "ink-3" },
  interrupted: { icon: "interrupted", tone: "warn" },
};

/** Whether `text` names a state. */
export function isState(text: string): text is StateName {
  return Object.hasOwn(LOOK, text);
}

/** The glyph of a state in its colour, with a word that screen readers hear. It asks for no words itself: many are drawn at once. */
export function StateGlyph({ state, name }: { state: StateName; name?: string }) {
  const { icon, tone } = LOOK[state];
  return (
    <span className={tone}>
      <Icon name={icon} label={name} />
    </span>
  );
}

/** Glyph, word, colour: with `word` the name stands beside the glyph, else only screen readers hear it. */
export function StateMark({ state, word = false }: { state: StateName; word?: boolean }) {
  const { t } = useTranslation();
  const name = t(`state.${state}`);
  if (!word) return <StateGlyph state={state} name={name} />;
  return (
    <span className="state">
      <StateGlyph state={state} />
      {name}
    </span>
  );
}
