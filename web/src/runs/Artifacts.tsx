import { useTranslation } from "react-i18next";
import { artifactUrl, type RunSummary, type StoredArtifact } from "../api";
import { useFormat } from "../i18n/format";
import { buttonClass } from "../ui/Button";
import { Icon, type IconName } from "../ui/Icon";
import { artifactNote } from "./facts";
import { isLive } from "./run-list";

const ICONS: Record<string, IconName> = {
  checkpoint: "save",
  model: "save",
  image: "eye",
  table: "columns",
  text: "note",
};

interface ListProps {
  run: RunSummary;
  artifacts: readonly StoredArtifact[];
}

/** What is known of an artifact besides its name: where in training, how large, and where its file is. */
function useAbout(run: RunSummary): (artifact: StoredArtifact) => string[] {
  const { t } = useTranslation("runs");
  const format = useFormat();
  return (artifact) => {
    const { epoch, note } = artifactNote(artifact);
    const place = run.worker_id ? t("onWorker", { worker: run.worker_id }) : t("gone");
    return [
      epoch === undefined ? (note ?? "") : t("epoch", { epoch }),
      artifact.size === null ? "" : format.size(artifact.size),
      artifact.available ? "" : place,
    ].filter(Boolean);
  };
}

/** Names, sizes and downloads in few lines. */
export function ArtifactList({ run, artifacts }: ListProps) {
  const { t } = useTranslation("runs");
  const about = useAbout(run);
  if (artifacts.length === 0) {
    return (
      <p className="artifact-none text-12 ink-3">{t(isLive(run) ? "noArtifacts" : "noArtifactsEnded")}</p>
    );
  }
  return (
    <ul className="artifact-list">
      {artifacts.map((artifact) => (
        <li key={artifact.artifact_id} className="row">
          <Icon name={ICONS[artifact.kind] ?? "file"} className="ink-3" />
          <span className="col grow artifact-text">
            <span className="mono artifact-name clip" title={artifact.path}>
              {artifact.name}
            </span>
            <span className="text-12 ink-3 clip">{about(artifact).join(t("comma"))}</span>
          </span>
          {artifact.available && <Download runId={run.run_id} artifact={artifact} />}
        </li>
      ))}
    </ul>
  );
}

function Download({ runId, artifact }: { runId: string; artifact: StoredArtifact }) {
  const { t } = useTranslation("runs");
  const label = t("download", { name: artifact.name });
  return (
    <a
      className={buttonClass("ghost", "s", true)}
      href={artifactUrl(runId, artifact.artifact_id, true)}
      download={artifact.name}
      aria-label={label}
      title={label}
    >
      <Icon name="download" />
    </a>
  );
}

/** A picture that a node drew. Codefy's own follow the page's theme. */
export function Picture({ runId, artifact }: { runId: string; artifact: StoredArtifact }) {
  const { t } = useTranslation("runs");
  const href = artifactUrl(runId, artifact.artifact_id);
  return (
    <a className="artifact-picture" href={href} target="_blank" rel="noreferrer">
      <img src={href} alt={t("preview", { name: artifact.name })} loading="lazy" />
    </a>
  );
}

interface GalleryProps extends ListProps {
  nameOf: (nodeId: string) => string;
}

/** All artifacts with previews of what can be shown. */
export function ArtifactGallery({ run, artifacts, nameOf }: GalleryProps) {
  const { t } = useTranslation("runs");
  const about = useAbout(run);
  if (artifacts.length === 0) return <ArtifactList run={run} artifacts={artifacts} />;
  return (
    <div className="artifact-gallery">
      {artifacts.map((artifact) => (
        <section className="card" key={artifact.artifact_id} aria-label={artifact.name}>
          <div className="card-head">
            <Icon name={ICONS[artifact.kind] ?? "file"} className="ink-3" />
            <span className="mono artifact-name grow clip" title={artifact.path}>
              {artifact.name}
            </span>
            {artifact.available && <Download runId={run.run_id} artifact={artifact} />}
          </div>
          {artifact.kind === "image" && artifact.available && (
            <Picture runId={run.run_id} artifact={artifact} />
          )}
          <p className="artifact-about text-12 ink-3">
            {[nameOf(artifact.node_id), ...about(artifact), artifact.media_type]
              .filter(Boolean)
              .join(t("comma"))}
          </p>
          {artifact.sha256 && (
            <p className="artifact-about mono-11 ink-3 clip" title={artifact.sha256}>
              sha256 {artifact.sha256.slice(0, 16)}…
            </p>
          )}
        </section>
      ))}
    </div>
  );
}
