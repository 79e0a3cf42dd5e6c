import { useState } from "react";
import { Input } from "react-aria-components/Input";
import { Label } from "react-aria-components/Label";
import { Text } from "react-aria-components/Text";
import { TextField } from "react-aria-components/TextField";
import { useTranslation } from "react-i18next";
import type { WorkerStatus } from "../api";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Icon } from "../ui/Icon";
import { StartCommand } from "./Command";
import { freeName, isWorkerName } from "./command";

interface Props {
  workers: readonly WorkerStatus[];
  onClose: () => void;
}

/** The command for a new worker, and word when it has connected. */
export function AddWorker({ workers, onClose }: Props) {
  const { t } = useTranslation("workers");
  const [before] = useState(() => new Set(workers.filter(isOnline).map((worker) => worker.worker_id)));
  const [name, setName] = useState(() => freeName(new Set(workers.map((worker) => worker.worker_id))));
  const taken = before.has(name);
  const valid = isWorkerName(name) && !taken;
  const ready = !taken && workers.some((worker) => worker.worker_id === name && isOnline(worker));
  return (
    <Dialog
      title={t("addTitle")}
      open
      onClose={onClose}
      width={620}
      foot={
        <>
          <span className="row text-12 ink-2 grow" role="status">
            {ready ? (
              <>
                <Icon name="succeeded" className="ok" /> {t("addReady", { name })}
              </>
            ) : (
              valid && (
                <>
                  <Icon name="running" className="live" /> {t("addWaiting", { name })}
                </>
              )
            )}
          </span>
          <Button kind={ready ? "primary" : "plain"} onPress={onClose}>
            {t(ready ? "done" : "common:close")}
          </Button>
        </>
      }
    >
      <div className="add-worker">
        <p className="ink-2">{t("addLead")}</p>
        <TextField value={name} onChange={setName} isInvalid={!valid} className="add-name" autoFocus>
          <Label>{t("addName")}</Label>
          <Input className="field" spellCheck={false} autoComplete="off" />
          <Text slot="description" className="text-12 ink-3">
            {t(taken ? "addNameTaken" : "addNameHint")}
          </Text>
        </TextField>
        <p className="ink-2">{t("addCommand")}</p>
        <StartCommand name={valid ? name : "NAME"} />
        <p className="text-12 ink-3">{t("addToken")}</p>
      </div>
    </Dialog>
  );
}

function isOnline(worker: WorkerStatus): boolean {
  return worker.state === "online";
}
