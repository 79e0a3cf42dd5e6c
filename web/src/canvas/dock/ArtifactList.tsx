import { useTranslation } from "react-i18next";
import { artifactUrl } from "../../api";
import type { StoredArtifact } from "../../api/types";
import { useFormat } from "../../i18n/format";
import { Icon, type IconName } from "../../ui/Icon";

const ICON: Record<string, IconName> = {
  checkpoint: "save",
  image: "eye",
  table: "columns",
  model: "layers",
};

/** Files of a run: pictures as pictures, the others to save. */
export function ArtifactList({ runId, artifacts }: { runId: string; artifacts: readonly StoredArtifact[] }) {
  const { t } = useTranslation("canvas");
  const format = useFormat();
  if (artifacts.length === 0) return null;
  return (
    <ul className="artifacts">
      {artifacts.map((artifact) => {
        const picture = artifact.available && artifact.media_type.startsWith("image/");
        return (
          <li key={artifact.artifact_id} className="artifact">
            {picture && (
              <a href={artifactUrl(runId, artifact.artifact_id)} target="_blank" rel="noreferrer">
                <img src={artifactUrl(runId, artifact.artifact_id)} alt={artifact.name} loading="lazy" />
              </a>
            )}
            <p className="row text-12">
              <Icon name={ICON[artifact.kind] ?? "file"} className="ink-3" />
              <span className="grow clip" title={artifact.path}>
                {artifact.name}
              </span>
              {artifact.size !== null && <span className="ink-3 nowrap">{format.size(artifact.size)}</span>}
              {artifact.available ? (
                <a
                  className="btn btn-ghost btn-s btn-icon"
                  href={artifactUrl(runId, artifact.artifact_id, true)}
                  download={artifact.name}
                  aria-label={t("saveFile", { name: artifact.name })}
                >
                  <Icon name="download" />
                </a>
              ) : (
                <span className="ink-3 nowrap">{t("fileGone")}</span>
              )}
            </p>
          </li>
        );
      })}
    </ul>
  );
}
