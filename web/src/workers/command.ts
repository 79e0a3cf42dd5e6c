// The command that starts a worker. Pure.

const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;
const RESERVED = new Set(["local", "any"]);

export function isWorkerName(name: string): boolean {
  return NAME.test(name) && !RESERVED.has(name);
}

/** A name that no worker has yet: worker-1, worker-2 … */
export function freeName(taken: ReadonlySet<string>): string {
  for (let n = 1; ; n++) {
    const name = `worker-${n}`;
    if (!taken.has(name)) return name;
  }
}

/** `text` as one word of a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export function startCommand(origin: string, tokenFile: string, name: string): string {
  return `codefy-agent start --control ${origin} --token-file ${shellWord(tokenFile)} --name ${name}`;
}
