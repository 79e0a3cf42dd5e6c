import { Component, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "../ui/Button";

/** Keeps the rail usable when a page fails to draw, and says what to do. */
export class Boundary extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override render(): ReactNode {
    return this.state.failed ? <Broken /> : this.props.children;
  }
}

function Broken() {
  const { t } = useTranslation();
  return (
    <main className="app-empty">
      <div className="empty" role="alert">
        <h2>{t("brokenTitle")}</h2>
        <p>{t("brokenText")}</p>
        <Button kind="primary" onPress={() => window.location.reload()}>
          {t("reload")}
        </Button>
      </div>
    </main>
  );
}
