/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/**
 * Ms that an upload waits for the text of its files, and the largest total size in bytes of files that it waits for.
 * Beyond: the upload returns while the text is extracted. Parley's choice.
 */
export const EXTRACT_WAIT_MS_MAX = 300;
export const EXTRACT_WAIT_BYTES_MAX = 1024 * 1024;
