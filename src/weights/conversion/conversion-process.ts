// Main file of the process that converts weights: reads and writes files without a pause, for seconds, which the process that
// serves requests cannot do. Its one argument is a WhisperConversion as JSON; it says how far it is in lines.
import { convertWhisper } from './convert-whisper.ts';
import type { WhisperConversion } from './convert-whisper.ts';

/** Between two lines: about forty of them in all. */
const TELL_BYTES = 2_500_000;

/** Parser of what our own process of the same version passes. */
const order = JSON.parse(process.argv[2] ?? '{}') as WhisperConversion;

let doneBytes = 0;
let toldBytes = 0;
convertWhisper(order, (bytes) => {
  doneBytes += bytes;
  if (doneBytes - toldBytes < TELL_BYTES) return;
  toldBytes = doneBytes;
  process.stdout.write(`${doneBytes}\n`);
});
