import { existsSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { formatBytes } from '../weights/format-bytes.ts';
import type { MissingSpeechParts, SpeechSetup } from './speech-setup.ts';

/** Input and output of a terminal, if the process has one. */
export interface QuestionTerminal {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean; unref?(): unknown };
  readonly stdout: { readonly isTTY?: boolean; write(text: string): unknown };
}

interface OfferSpeechOptions extends QuestionTerminal {
  readonly setup: Pick<SpeechSetup, 'findMissing'>;
  /** Whether the configuration names speech; it is then installed without a question. */
  readonly isRequested: boolean;
  /** File that remembers the answer no, so that later starts do not ask again. */
  readonly declinedFile: string;
  readonly signal: AbortSignal;
}

/** Longest wait in ms for an answer; Parley's choice. No answer means no, and the next start asks again. */
export const SPEECH_ANSWER_MS_MAX = 30_000;

/**
 * Decides whether the start installs speech: if the configuration requests it, or if somebody at the terminal says so.
 * Without a terminal there is no question.
 */
export async function offerSpeech(options: OfferSpeechOptions): Promise<boolean> {
  const { setup, isRequested, declinedFile, stdin, stdout } = options;
  const canAsk = stdin.isTTY === true && stdout.isTTY === true && !existsSync(declinedFile);
  if (!isRequested && !canAsk) return false;
  const missing = await setup.findMissing();
  if (!missing) return false;
  if (isRequested) return true;
  const answer = await askQuestion(formatQuestion(missing), options);
  const isAccepted = answer !== undefined && /^\s*y(?:es)?\s*$/i.test(answer);
  if (answer !== undefined && !isAccepted) {
    writeFileSync(declinedFile, 'Delete this file to be asked again, or start with: parley serve --with speech\n');
  }
  if (!isAccepted) stdout.write('Speech is not added. To add it later: parley serve --with speech\n');
  return isAccepted;
}

function formatQuestion({ engineBytes, weightsBytes }: MissingSpeechParts): string {
  const parts = [
    ...(engineBytes > 0 ? [`engine ${formatBytes(engineBytes)}`] : []),
    ...(weightsBytes > 0 ? [`weights ${formatBytes(weightsBytes)}`] : []),
  ];
  return `Add speech recognition and embeddings? Download: ${parts.join(', ')}. [y/N] `;
}

/** Asks for one line. @returns undefined if the time is over, the input ends or the signal aborts. */
async function askQuestion(
  question: string,
  { stdin, stdout, signal }: QuestionTerminal & { readonly signal: AbortSignal },
): Promise<string | undefined> {
  // Without `terminal`, the terminal keeps handling Ctrl-C, which stops the service.
  const lines = createInterface({ input: stdin, terminal: false });
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const giveUp = (): void => resolve(undefined);
  const timer = setTimeout(giveUp, SPEECH_ANSWER_MS_MAX);
  lines.once('line', resolve).once('close', giveUp);
  signal.addEventListener('abort', giveUp, { once: true });
  if (signal.aborted) giveUp();
  stdout.write(question);
  try {
    const answer = await promise;
    if (answer === undefined) stdout.write('\n');
    return answer;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
    lines.close();
    stdin.pause();
    // An open terminal must not keep a stopped service alive.
    stdin.unref?.();
  }
}
