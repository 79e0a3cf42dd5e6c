// Runs before the first paint, so that a dark page does not flash white and Chinese text gets its fonts at once.
(() => {
  const root = document.documentElement;
  let theme = null;
  let language = null;
  try {
    theme = localStorage.getItem("codefy.theme");
    language = localStorage.getItem("codefy.language");
  } catch {
    // Storage may be blocked; the system's choice holds then.
  }
  if (theme !== "light" && theme !== "dark") {
    theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  }
  root.dataset.theme = theme;
  if (language === null) language = /^zh\b/i.test(navigator.language) ? "zh-Hant" : "en";
  root.lang = language;
})();
