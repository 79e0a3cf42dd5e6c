import { useTranslation } from "react-i18next";
import type { LiveRun, RunSummary } from "../api";
import { useFormat } from "../i18n/format";
import { type Segment, timelineOf } from "./timeline";

interface Props {
  run: RunSummary;
  live: LiveRun | undefined;
  /** Names of nodes as the graph calls them. */
  nameOf: (nodeId: string) => string;
  now: number;
}

/** Labels of shorter pieces would not fit under them. */
const LABEL_SHARE = 0.07;

export function Timeline({ run, live, nameOf, now }: Props) {
  const { t } = useTranslation("runs");
  const format = useFormat();
  const segments = timelineOf(run, live, now);
  const total = segments.reduce((sum, segment) => sum + segment.to - segment.from, 0);
  if (total <= 0) return null;
  const text = (segment: Segment) => {
    const time = format.duration(segment.to - segment.from);
    if (segment.kind === "node") return `${nameOf(segment.nodeId ?? "")} ${time}`;
    return t(`timeline.${segment.kind}`, { time });
  };
  return (
    <div
      className="timeline"
      role="img"
      aria-label={t("timeline.label", { parts: segments.map(text).join(t("comma")) })}
    >
      {segments.map((segment, i) => (
        <span
          key={`${segment.kind}-${segment.nodeId ?? ""}-${segment.from}`}
          className="timeline-part"
          style={{ flexGrow: (segment.to - segment.from) / total }}
          title={text(segment)}
        >
          <i className={`timeline-${segment.kind}`} />
          {((segment.to - segment.from) / total >= LABEL_SHARE || segment.kind === "offline") && (
            <span className={i === segments.length - 1 ? "timeline-label last" : "timeline-label"}>
              {text(segment)}
            </span>
          )}
        </span>
      ))}
    </div>
  );
}
