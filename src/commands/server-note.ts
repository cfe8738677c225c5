import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const fileOf = (dataFolder: string): string => join(dataFolder, 'server.json');

/** Longest wait for a server that is noted, in ms. */
const ANSWER_MS_MAX = 1_000;

/** Notes where the server of this data folder listens. Of several at once, the one that is noted stays it. */
export async function noteServer(dataFolder: string, url: string): Promise<{ remove(): void }> {
  const file = fileOf(dataFolder);
  // At an address of ours nobody else listens any more, and it is we who would answer there.
  const isOurs = readNote(dataFolder)?.url === url;
  if (isOurs || !(await isServerRunning(dataFolder)))
    writeFileSync(file, JSON.stringify({ pid: process.pid, url }), { mode: 0o600 });
  return {
    remove() {
      if (readNote(dataFolder)?.pid === process.pid) rmSync(file, { force: true });
    },
  };
}

/** Whether a server runs on this data folder. It looks at its configuration file by itself. */
export async function isServerRunning(dataFolder: string): Promise<boolean> {
  const note = readNote(dataFolder);
  if (!note) return false;
  try {
    const answer = await fetch(new URL('/health', note.url), { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
    return answer.ok;
  } catch {
    return false; // a server that was killed leaves its note behind
  }
}

function readNote(dataFolder: string): { pid: number; url: string } | undefined {
  try {
    return JSON.parse(readFileSync(fileOf(dataFolder), 'utf8')) as { pid: number; url: string };
  } catch {
    return undefined;
  }
}
