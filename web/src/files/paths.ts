// Paths of the data folder: `pictures/cats/1.png`.

export function parentOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

export function joined(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

/** The folders on the way to `folder`, outermost first: their names with their paths. */
export function crumbs(folder: string): { name: string; path: string }[] {
  const names = folder === "" ? [] : folder.split("/");
  return names.map((name, at) => ({ name, path: names.slice(0, at + 1).join("/") }));
}

/** Why the server would not take a name for a file or folder; `null` for one that it takes. */
export function nameFault(name: string): "empty" | "slash" | "dot" | "long" | null {
  if (name.trim() === "") return "empty";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[/\\\u0000-\u001f\u007f]/.test(name)) return "slash";
  if (name.startsWith(".")) return "dot";
  return new TextEncoder().encode(name).length > 240 ? "long" : null;
}
