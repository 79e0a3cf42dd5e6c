/** Nested words of one feature. */
export interface Words {
  [key: string]: string | Words;
}

/** Both languages of a feature: the second has the shape of the first, so a forgotten key does not compile. */
export interface Locale<T extends Words> {
  en: T;
  "zh-Hant": Shape<T>;
}

/** The keys of `T`. Plural suffixes that Chinese does not have (`_one`) may be left out. */
type Shape<T> = {
  [K in keyof T as K extends `${string}_one` ? never : K]: T[K] extends string ? string : Shape<T[K]>;
};

export function locale<const T extends Words>(en: T, zhHant: Shape<T>): Locale<T> {
  return { en, "zh-Hant": zhHant };
}
