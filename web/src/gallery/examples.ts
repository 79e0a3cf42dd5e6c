// The examples in the order in which people best meet them, and what each is about.
export const TOPICS = ["pictures", "making", "tables", "sequences", "classical", "building"] as const;
export type Topic = (typeof TOPICS)[number];

const ABOUT: Readonly<Record<string, readonly Topic[]>> = {
  "digits-cnn": ["pictures"],
  "wine-mlp": ["tables"],
  "image-folder": ["pictures"],
  "csv-regression": ["tables", "classical"],
  "char-gpt": ["sequences"],
  "unet-diffusion": ["making"],
  "kmeans-pca": ["classical", "pictures"],
  "lstm-series": ["sequences"],
  vae: ["making"],
  "residual-net": ["pictures", "building"],
  "map-over-preset": ["building", "tables"],
  autoencoder: ["making"],
  vit: ["pictures"],
  "mixture-of-experts": ["pictures", "building"],
  "svm-vs-mlp": ["classical"],
  "resume-checkpoint": ["building"],
};
const ORDER = Object.keys(ABOUT);

/** The first one is where a new user starts; what is not known here comes last, by name. */
export function inOrder<T extends { name: string }>(examples: readonly T[]): T[] {
  const place = (name: string) => {
    const at = ORDER.indexOf(name);
    return at < 0 ? ORDER.length : at;
  };
  return [...examples].sort((a, b) => place(a.name) - place(b.name) || (a.name < b.name ? -1 : 1));
}

export function topicsOf(name: string): readonly Topic[] {
  return Object.hasOwn(ABOUT, name) ? (ABOUT[name] ?? []) : [];
}
