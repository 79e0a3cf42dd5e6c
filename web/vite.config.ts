import optimizeLocales from "@react-aria/optimize-locales-plugin";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The server that `npm run dev` forwards to; its link with the token, opened at the dev server's address, sets the cookie.
const server = process.env.CODEFY_DEV_SERVER ?? "http://127.0.0.1:8000";

export default defineConfig({
  // React Aria carries its own words in 30 languages: the page has two.
  plugins: [react(), { ...optimizeLocales.vite({ locales: ["en-US", "zh-TW"] }), enforce: "pre" }],
  server: {
    host: "127.0.0.1",
    // The server answers its own pages only, so forwarded requests say that they come from one.
    proxy: {
      "/api": { target: server, changeOrigin: true, headers: { origin: server } },
      "/ws": {
        target: server.replace(/^http/, "ws"),
        ws: true,
        changeOrigin: true,
        headers: { origin: server },
      },
    },
  },
  build: {
    target: "es2023",
    // The page's policy allows no inline scripts and no data: scripts; files keep every asset addressable and cacheable.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  test: {
    environment: "happy-dom",
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["src/testing/setup.ts"],
    restoreMocks: true,
  },
});
