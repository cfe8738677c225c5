/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Largest weight of an entry; the smallest is 1 (docs/wire/dashscope-native.md#vocabularies). Beyond: 400. */
export const HOTWORD_WEIGHT_MAX = 5;

/**
 * Audio files of one transcription, and bytes of one file (docs/wire/dashscope-native.md#transcription). Beyond: 400;
 * for a file: its part of the task fails.
 */
export const TRANSCRIPTION_FILES_MAX = 100;
export const TRANSCRIPTION_BYTES_MAX = 2_147_483_648;

/** Sample rates of the audio in Hz (docs/wire/realtime.md#recognition-messages). Outside: task-failed. */
export const REALTIME_RATE_MIN = 8_000;
export const REALTIME_RATE_MAX = 48_000;

/** Characters of the prompt for a speech model. Beyond: 400. The model uses far fewer, the last ones. */
export const TRANSCRIPTION_PROMPT_CHARS_MAX = 10_000;

/** Channels of an audio file that are transcribed separately. Beyond: 400. */
export const TRANSCRIPTION_CHANNELS_MAX = 8;

/** Characters of a vocabulary's prefix (docs/wire/dashscope-native.md#vocabularies). Beyond: 400. */
export const VOCABULARY_PREFIX_CHARS_MAX = 10;

/** Characters of a vocabulary's target model name. Beyond: 400. */
export const TARGET_MODEL_CHARS_MAX = 128;

/**
 * Code points of an entry with non-ASCII characters, and words of an ASCII entry
 * (docs/wire/dashscope-native.md#vocabularies). Beyond: 400.
 */
export const HOTWORD_CODE_POINTS_MAX = 15;
export const HOTWORD_WORDS_MAX = 7;

/** Characters of an ASCII entry, whose words have no limit of their own. Beyond: 400. */
export const HOTWORD_ASCII_CHARS_MAX = 256;

/** Ms that a task is kept after its end: one day (docs/wire/dashscope-native.md#tasks). */
export const TASK_RETENTION_MS = 86_400_000;

/** Ms between removals of expired tasks, and tasks per removal. */
export const TASK_CLEANUP_INTERVAL_MS = 600_000;
export const TASK_CLEANUP_PAGE_MAX = 100;

/** Ms to download an audio file. Beyond: its part of the task fails. */
export const TRANSCRIPTION_FETCH_MS_MAX = 1_800_000;

/** Seconds that the URL of a result is valid (docs/wire/dashscope-native.md#transcription). */
export const TRANSCRIPTION_URL_SECONDS = 86_400;
