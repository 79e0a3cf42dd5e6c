import { useTranslation } from "react-i18next";
import type { NodeDefinition, PortDefinition } from "../../api/types";
import { CodeText } from "../../ui/CodeText";
import { Markdown } from "../../ui/Markdown";
import { PortShape } from "../PortShape";

/** The documentation that the node's author wrote, and what its ports take and give. */
export default function Help({ definition }: { definition: NodeDefinition | undefined }) {
  const { t } = useTranslation("canvas");
  if (definition === undefined) return <p className="panel-empty">{t("noHelp")}</p>;
  return (
    <div className="form help">
      <Markdown text={definition.doc} />
      <Ports title={t("inputs")} ports={definition.inputs} />
      <Ports title={t("outputs")} ports={definition.outputs} />
    </div>
  );
}

function Ports({ title, ports }: { title: string; ports: readonly PortDefinition[] }) {
  const { t } = useTranslation("canvas");
  if (ports.length === 0) return null;
  return (
    <section>
      <h3 className="form-section">{title}</h3>
      <ul className="help-ports">
        {ports.map((port) => (
          <li key={port.name}>
            <p className="row">
              <PortShape type={port.type} filled />
              <span className="grow">{port.name.replaceAll("_", " ")}</span>
              <span className="text-12 ink-3">
                {t(`type.${port.type}`, { defaultValue: port.type })}
                {port.required === false ? t("optionalMark") : ""}
              </span>
            </p>
            {port.doc !== undefined && port.doc !== "" && (
              <p className="text-12 ink-2 help-doc">
                <CodeText text={port.doc} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
