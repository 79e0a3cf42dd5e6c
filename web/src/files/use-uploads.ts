// The uploads of one file browser: several at once wait in line, each shows how far it is and can be stopped or tried again.
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { ApiProblem, type FileEntry } from "../api";
import { joined } from "./paths";
import { uploadFile } from "./upload";

export interface Upload {
  id: number;
  file: File;
  path: string;
  sent: number;
  ifExists: "refuse" | "replace" | "number";
  state: "waiting" | "sending" | "failed" | "done";
  problem: ApiProblem | null;
}

export interface Uploads {
  list: readonly Upload[];
  add: (files: readonly File[], folder: string) => void;
  retry: (id: number, ifExists?: "refuse" | "replace" | "number") => void;
  /** Stop it, or take it off the list. */
  drop: (id: number) => void;
}

export function useUploads(onDone: (entry: FileEntry) => void): Uploads {
  const client = useQueryClient();
  const [list, setList] = useState<readonly Upload[]>([]);
  const aborts = useRef(new Map<number, AbortController>());
  const ids = useRef(0);
  const done = useRef(onDone);
  done.current = onDone;
  const change = useCallback(
    (id: number, what: Partial<Upload>) =>
      setList((before) => before.map((one) => (one.id === id ? { ...one, ...what } : one))),
    [],
  );

  const waiting = list.find((one) => one.state === "waiting");
  const busy = list.some((one) => one.state === "sending");
  useEffect(() => {
    if (waiting === undefined || busy) return;
    const { id, file, path, ifExists } = waiting;
    const abort = new AbortController();
    aborts.current.set(id, abort);
    change(id, { state: "sending", problem: null });
    uploadFile(file, path, {
      ifExists,
      signal: abort.signal,
      onProgress: (sent) => change(id, { sent }),
    })
      .then(
        (entry) => {
          change(id, { state: "done", sent: file.size, path: entry.path });
          void client.invalidateQueries({ queryKey: ["files"] });
          done.current(entry);
        },
        (error: unknown) => {
          if (abort.signal.aborted) return;
          const problem =
            error instanceof ApiProblem
              ? error
              : new ApiProblem({ status: 0, code: "unreachable", message: String(error) });
          change(id, { state: "failed", problem });
        },
      )
      .finally(() => aborts.current.delete(id));
  }, [waiting, busy, change, client]);

  useEffect(() => {
    const running = aborts.current;
    return () => {
      for (const abort of running.values()) abort.abort();
    };
  }, []);

  return {
    list,
    add: (files, folder) =>
      setList((before) => [
        ...before.filter((one) => one.state !== "done"),
        ...files.map((file) => {
          ids.current += 1;
          const path = joined(folder, file.name.normalize("NFC"));
          return {
            id: ids.current,
            file,
            path,
            sent: 0,
            ifExists: "refuse" as const,
            state: "waiting" as const,
            problem: null,
          };
        }),
      ]),
    retry: (id, ifExists = "refuse") => change(id, { state: "waiting", problem: null, ifExists }),
    drop: (id) => {
      aborts.current.get(id)?.abort();
      setList((before) => before.filter((one) => one.id !== id));
    },
  };
}
