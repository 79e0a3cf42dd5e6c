import type { ReactNode } from "react";
import { Dialog as AriaDialog } from "react-aria-components/Dialog";
import { Heading } from "react-aria-components/Heading";
import { Modal, ModalOverlay } from "react-aria-components/Modal";
import { useTranslation } from "react-i18next";
import { IconButton } from "./Button";

interface Props {
  title: string;
  open: boolean;
  onClose: () => void;
  width?: number;
  foot?: ReactNode;
  children: ReactNode;
}

export function Dialog({ title, open, onClose, width = 480, foot, children }: Props) {
  const { t } = useTranslation();
  return (
    <ModalOverlay
      className="scrim"
      isOpen={open}
      isDismissable
      onOpenChange={(isOpen) => {
        if (!isOpen) onClose();
      }}
    >
      <Modal className="modal" style={{ width }}>
        <AriaDialog className="dialog">
          <div className="dialog-head">
            <Heading slot="title" className="grow">
              {title}
            </Heading>
            <IconButton icon="close" label={t("close")} size="s" onPress={onClose} />
          </div>
          <div className="dialog-body">{children}</div>
          {foot !== undefined && <div className="dialog-foot">{foot}</div>}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}
