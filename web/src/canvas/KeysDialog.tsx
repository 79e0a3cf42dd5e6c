import { useTranslation } from "react-i18next";
import { Dialog } from "../ui/Dialog";
import { Switch } from "../ui/Switch";
import { type CommandGroup, commands, nodeKeys } from "./commands/list";
import { useStageUi } from "./store/stage-ui";
import { useView } from "./store/view";

const GROUPS: readonly CommandGroup[] = ["build", "edit", "groups", "view", "running"];

/** Every key of the canvas, and the switch for those that are one letter. */
export default function KeysDialog() {
  const { t } = useTranslation("editor");
  const open = useStageUi((state) => state.keysOpen);
  const letters = useView((state) => state.letters);
  return (
    <Dialog
      title={t("keysTitle")}
      open={open}
      onClose={() => useStageUi.setState({ keysOpen: false })}
      width={720}
    >
      <div className="keys-switch">
        <Switch
          label={t("letters")}
          checked={letters}
          onChange={(on) => useView.getState().set({ letters: on })}
        />
        <span className="text-12 ink-3">{t("lettersText")}</span>
      </div>
      <div className="keys-groups">
        {GROUPS.map((group) => (
          <section key={group}>
            <h3>{t(`commandGroup.${group}`)}</h3>
            <dl className="keys">
              {commands
                .filter((command) => command.group === group && command.keys.length > 0)
                .map(({ name, keys }) => (
                  <Keys key={name} name={t(`command.${name}`)} keys={keys.map(({ shown }) => shown)} />
                ))}
            </dl>
          </section>
        ))}
        <section>
          <h3>{t("onNode")}</h3>
          <dl className="keys">
            {nodeKeys.map(({ name, shown }) => (
              <Keys key={name} name={t(`command.${name}`)} keys={[shown]} />
            ))}
          </dl>
        </section>
      </div>
    </Dialog>
  );
}

function Keys({ name, keys }: { name: string; keys: readonly string[] }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {keys.map((shown) => (
          <span className="kbd" key={shown}>
            {shown}
          </span>
        ))}
      </dd>
    </div>
  );
}
