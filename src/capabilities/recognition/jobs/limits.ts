/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Attempts to download an audio file while its server fails, and ms between them. */
export const TRANSCRIPTION_FETCH_ATTEMPTS_MAX = 3;
export const TRANSCRIPTION_FETCH_PAUSE_MS = 2_000;

/**
 * Transcription jobs that one process runs concurrently, all but one of them of one workspace. Beyond: they wait. The
 * engine processes one at a time.
 */
export const TRANSCRIPTION_CONCURRENCY = 3;
