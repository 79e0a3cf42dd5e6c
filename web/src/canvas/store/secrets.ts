// Values of secrets, in the memory of this page and nowhere else: no storage, no document, gone with a reload.
import { create } from "zustand";

interface Secrets {
  values: Readonly<Record<string, string>>;
  /** An empty value forgets it. */
  keep(name: string, value: string): void;
}

export const useSecrets = create<Secrets>()((set) => ({
  values: {},
  keep: (name, value) =>
    set((state) => {
      const { [name]: _, ...rest } = state.values;
      return { values: value === "" ? rest : { ...rest, [name]: value } };
    }),
}));

/** The values of some secrets, and the names of those that nobody has typed yet. */
export function secretValues(names: readonly string[]): { known: Record<string, string>; missing: string[] } {
  const { values } = useSecrets.getState();
  const known: Record<string, string> = {};
  const missing: string[] = [];
  for (const name of names) {
    const value = values[name];
    if (value === undefined || value === "") missing.push(name);
    else known[name] = value;
  }
  return { known, missing };
}
