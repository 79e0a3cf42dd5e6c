import { useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { ApiProblem, api, keys } from "../api";
import { useEditor } from "../canvas/store/editor";
import { documentOf } from "../canvas/store/graph-store";
import { graphText, offerFile } from "../drafts/graph-file";
import { freeName } from "../drafts/names";
import { useImport } from "../drafts/use-import";
import { keeping } from "../drafts/use-kept";
import { useReason } from "../i18n/reasons";
import { notices } from "../notices/notices";
import { IconButton } from "../ui/Button";
import { Menu } from "../ui/Menu";

const DeleteDialog = lazy(() => import("./DeleteDialog"));

/** What can be done with the graph in front as a whole. */
export function GraphMenu({ name, onClose }: { name: string; onClose: () => void }) {
  const { t } = useTranslation("drafts");
  const [, navigate] = useLocation();
  const client = useQueryClient();
  const word = useReason();
  const { store } = useEditor();
  const take = useImport();
  const input = useRef<HTMLInputElement>(null);
  const [deleting, setDeleting] = useState(false);
  const duplicate = async () => {
    try {
      const { graphs, drafts } = await api.graphs();
      const taken = [...graphs, ...(drafts ?? [])].map((graph) => graph.name);
      const copy = freeName(t("copyName", { name }), taken);
      await api.saveGraph(copy, { ...documentOf(store.getState()), name: copy }, 0);
      void client.invalidateQueries({ queryKey: keys.graphs });
      navigate(`/graphs/${encodeURIComponent(copy)}`);
    } catch (error) {
      const said = error instanceof ApiProblem ? word(error) : String(error);
      notices.show({ tone: "bad", text: "drafts:notDuplicated", params: { name }, said });
    }
  };
  return (
    <>
      <Menu
        label={t("graphMenu", { name })}
        entries={[
          {
            id: "rename",
            label: t("renameEntry"),
            icon: "tag",
            keys: "F2",
            onAction: () => keeping.setState({ naming: true }),
          },
          { id: "duplicate", label: t("duplicateGraph"), icon: "copy", onAction: () => void duplicate() },
          {
            id: "export",
            label: t("export"),
            icon: "download",
            onAction: () => offerFile(`${name}.json`, graphText({ ...documentOf(store.getState()), name })),
          },
          { id: "import", label: t("import"), icon: "upload", onAction: () => input.current?.click() },
          { id: "home", label: t("allGraphs"), icon: "home", onAction: () => navigate("/") },
          { id: "close", label: t("closeTab"), icon: "close", onAction: onClose },
          { id: "delete", label: t("deleteEntry"), icon: "trash", onAction: () => setDeleting(true) },
        ]}
      >
        <IconButton icon="more" label={t("graphMenu", { name })} />
      </Menu>
      <input
        ref={input}
        type="file"
        accept=".json,application/json"
        multiple
        hidden
        aria-label={t("import")}
        onChange={(event) => {
          const files = [...(event.target.files ?? [])];
          event.target.value = "";
          void take(files);
        }}
      />
      {deleting && (
        <Suspense>
          <DeleteDialog name={name} onClose={() => setDeleting(false)} />
        </Suspense>
      )}
    </>
  );
}
