import { cleanup } from "@testing-library/react";
import { afterEach } from "vitest";
import { startTranslations } from "../i18n";

startTranslations();
afterEach(cleanup);
