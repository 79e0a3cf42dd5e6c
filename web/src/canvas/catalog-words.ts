/** The catalog's English words in Traditional Chinese. Words that are not here stay as they are. */
export const catalogWords: Readonly<Record<string, string>> = {};
