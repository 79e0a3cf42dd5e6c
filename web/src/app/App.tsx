import { QueryClientProvider } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { I18nProvider } from "react-aria-components/I18nProvider";
import { useTranslation } from "react-i18next";
import { Link, Redirect, Route, Switch, useLocation } from "wouter";
import { usePresence } from "../api";
import { useReason } from "../i18n/reasons";
import { buttonClass } from "../ui/Button";
import { Boundary } from "./Boundary";
import { queryClient } from "./query-client";
import { Rail } from "./Rail";
import { ServerBanner } from "./ServerBanner";

const HomePage = lazy(() => import("../home/HomePage"));
const CanvasPage = lazy(() => import("../canvas/CanvasPage"));
const RunsPage = lazy(() => import("../runs/RunsPage"));
const RunPage = lazy(() => import("../runs/RunPage"));
const WorkersPage = lazy(() => import("../workers/WorkersPage"));
const SettingsPage = lazy(() => import("../settings/SettingsPage"));

export function App() {
  const [path] = useLocation();
  const { locked, admitted } = usePresence();
  // The settings are kept in this browser and need no server.
  const shut = locked !== null && !admitted && path !== "/settings";
  const { i18n } = useTranslation();
  const word = useReason();
  return (
    <QueryClientProvider client={queryClient}>
      <I18nProvider locale={i18n.language === "zh-Hant" ? "zh-TW" : "en-US"}>
        <div className="app">
          <Rail />
          <div className="app-main">
            <ServerBanner />
            <Boundary key={path.split("/")[1]}>
              <Suspense fallback={<Loading />}>
                {shut ? (
                  <Locked message={word(locked)} />
                ) : (
                  <Switch>
                    <Route path="/" component={HomePage} />
                    <Route path="/graphs">
                      <CanvasPage />
                    </Route>
                    <Route path="/graphs/:name">
                      {({ name }) => <CanvasPage name={decodeURIComponent(name)} />}
                    </Route>
                    <Route path="/runs" component={RunsPage} />
                    <Route path="/runs/:id/:tab?">
                      {(params) => <RunPage runId={params.id} tab={params.tab} />}
                    </Route>
                    <Route path="/workers" component={WorkersPage} />
                    <Route path="/sweeps">
                      <Message title="sweepsTitle" text="sweepsText" to="/graphs" action="goCanvas" />
                    </Route>
                    <Route path="/settings" component={SettingsPage} />
                    <Route path="/index.html">
                      <Redirect to="/" />
                    </Route>
                    <Route>
                      <Message title="notFoundTitle" text="notFoundText" to="/" action="goHome" />
                    </Route>
                  </Switch>
                )}
              </Suspense>
            </Boundary>
          </div>
        </div>
      </I18nProvider>
    </QueryClientProvider>
  );
}

function Loading() {
  const { t } = useTranslation();
  return (
    <div className="app-empty ink-3" role="status">
      {t("loading")}
    </div>
  );
}

/** No page has anything to show to a browser without the token: how to get it is all there is to say. */
function Locked({ message }: { message: string }) {
  const { t } = useTranslation();
  return (
    <main className="app-empty">
      <div className="empty" role="alert">
        <h2>{t("lockedTitle")}</h2>
        <p>{message}</p>
      </div>
    </main>
  );
}

interface MessageProps {
  title: string;
  text: string;
  to: string;
  action: string;
}

function Message({ title, text, to, action }: MessageProps) {
  const { t } = useTranslation();
  return (
    <main className="app-empty">
      <div className="empty">
        <h2>{t(title)}</h2>
        <p>{t(text)}</p>
        <Link href={to} className={buttonClass("primary")}>
          {t(action)}
        </Link>
      </div>
    </main>
  );
}
