// Entry of the process that converts weights. The conversion reads and writes files synchronously for seconds, which
// would block a process that serves requests. Its argument is a WhisperConversion as JSON; it prints the number of
// bytes written so far.
import { convertWhisper, type WhisperConversion } from './convert-whisper.ts';

/** Bytes between two lines of progress; about forty lines in all. */
const REPORT_BYTES = 2_500_000;

/** Not validated: the argument comes from Parley's own process of the same version. */
const request = JSON.parse(process.argv[2] ?? '{}') as WhisperConversion;

let doneBytes = 0;
let reportedBytes = 0;
convertWhisper(request, (bytes) => {
  doneBytes += bytes;
  if (doneBytes - reportedBytes < REPORT_BYTES) return;
  reportedBytes = doneBytes;
  process.stdout.write(`${doneBytes}\n`);
});
