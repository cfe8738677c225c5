/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** CPU time of a container over its life, as a multiple of the time limit of one program. Beyond: it ends. */
export const CODE_CPU_FULL_RUNS = 40;

/** Ms for which an unused container is kept from other workspaces that need its place: they get 503. Chosen. */
export const CODE_CONTAINER_PROTECTED_MS = 60_000;

/** Ms for a container to start; usually half a second, longer with many wheels. Beyond: 503. */
export const CODE_START_MS_MAX = 60_000;

/**
 * Ms that a closed container may take to be removed. Beyond: logged; its place stays taken until it is removed, and requests
 * that need the place get 503. Chosen: several times what podman and docker take on a busy machine.
 */
export const CODE_REMOVAL_MS_MAX = 20_000;

/** Ms between attempts to remove a container after 30 of them have failed, until one succeeds. Chosen. */
export const CODE_REMOVAL_RETRY_MS = 30_000;

/**
 * Ms for a container engine to create a container that is no longer wanted. Beyond: its command is killed. Chosen: usually
 * less than a second.
 */
export const CODE_CREATION_MS_MAX = 2_000;

/**
 * Pauses in ms after a sandbox check that timed out; the last value repeats. The interpreter stays off meanwhile. The
 * first use after a pause starts the next check.
 */
export const SANDBOX_CHECK_RETRY_MS = [5_000, 30_000, 120_000, 600_000] as const;

/** Bytes of a program in a call to the interpreter. Beyond: 400. */
export const CODE_PROGRAM_BYTES_MAX = 1024 * 1024;

/** Bytes of stdout and of stderr that are returned. Beyond: truncated. */
export const CODE_OUTPUT_BYTES_MAX = 256 * 1024;

/** Characters of the value of the last expression, and of an error message. Beyond: truncated. */
export const CODE_TEXT_CHARS_MAX = 64 * 1024;

/** Files returned from one program, and their total bytes. Beyond: the others are dropped. */
export const CODE_FILES_MAX = 16;
export const CODE_FILES_BYTES_MAX = 16 * 1024 * 1024;
