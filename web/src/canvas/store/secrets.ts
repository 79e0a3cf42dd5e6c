// Values of secrets, in the memory of this page and nowhere else: no storage, no document, gone with a reload.
import { create } from "zustand";

/** Secrets that a run waits for. */
export interface SecretQuestion {
  names: readonly string[];
  /** Called once: with `true` when all values are there, with `false` when the run is given up. */
  answer(given: boolean): void;
}

interface Secrets {
  values: Readonly<Record<string, string>>;
  question: SecretQuestion | null;
  /** An empty value forgets it. */
  keep(name: string, value: string): void;
}

export const useSecrets = create<Secrets>()((set) => ({
  values: {},
  question: null,
  keep: (name, value) =>
    set((state) => {
      const { [name]: _, ...rest } = state.values;
      return { values: value === "" ? rest : { ...rest, [name]: value } };
    }),
}));

/** The values of all secrets called so, asked for in a dialog where nobody typed them yet; `null` when given up. */
export async function secretsFor(names: readonly string[]): Promise<Record<string, string> | null> {
  const { known, missing } = secretValues(names);
  if (missing.length === 0) return known;
  useSecrets.getState().question?.answer(false);
  const given = await new Promise<boolean>((resolve) => {
    useSecrets.setState({
      question: {
        names: missing,
        answer: (all) => {
          useSecrets.setState({ question: null });
          resolve(all);
        },
      },
    });
  });
  return given ? secretValues(names).known : null;
}

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
