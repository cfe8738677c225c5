/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/**
 * Vocabularies of a workspace in a region, and entries of one (docs/wire/dashscope-native.md#vocabularies).
 * Configurable. Beyond: 400.
 */
export const VOCABULARIES_MAX = 10;
export const VOCABULARY_ENTRIES_MAX = 500;

/**
 * Bytes of one file, and bytes and number of all files of a workspace in a region
 * (docs/wire/dashscope-native.md#files). Configurable. Beyond: the file is rejected.
 */
export const FILE_BYTES_MAX = 1024 ** 3;
export const FILES_BYTES_MAX = 5 * 1024 ** 3;
export const FILES_COUNT_MAX = 100;

/** Seconds that a download URL is valid. Configurable. */
export const FILE_URL_SECONDS = 3_600;

/**
 * Largest capacity of a deployment (docs/wire/dashscope-native.md#deployments). Configurable downwards. Beyond: 400.
 */
export const DEPLOYMENT_CAPACITY_MAX = 999;

/**
 * Ms that running calls may continue after a deployment was scaled or deleted: the default (configurable) and the
 * maximum. Beyond: aborted.
 */
export const DEPLOYMENT_DRAIN_MS = 600_000;
export const DEPLOYMENT_DRAIN_MS_MAX = 86_400_000;

/** Containers of one process: the default, and the configurable maximum. Beyond: an idle one is closed; else 503. */
export const CODE_CONTAINERS_DEFAULT = 8;
export const CODE_CONTAINERS_CONFIGURABLE_MAX = 256;

/** Bytes of fetched images of all running requests of a process, and of one workspace; configurable. Beyond: 503. */
export const IMAGES_BYTES_MAX = 128 * 1024 * 1024;
export const IMAGES_WORKSPACE_BYTES_MAX = 64 * 1024 * 1024;

/**
 * MiB of memory for the programs of a container: the default and the configurable range. Beyond: MemoryError, or the
 * container ends.
 */
export const CODE_MEMORY_MB_DEFAULT = 512;
export const CODE_MEMORY_MB_MIN = 64;
export const CODE_MEMORY_MB_MAX = 2_048;

/** Seconds of wall-clock time for one program: the default and the configurable maximum. Beyond: its container ends. */
export const CODE_SECONDS_DEFAULT = 30;
export const CODE_SECONDS_MAX = 3_600;

/** Budget of a deep research run: the defaults, and the configurable maxima. */
export const RESEARCH_QUERIES_DEFAULT = 10;
export const RESEARCH_QUERIES_MAX = 100;
export const RESEARCH_PAGES_DEFAULT = 20;
export const RESEARCH_PAGES_MAX = 1_000;
export const RESEARCH_TOKENS_DEFAULT = 200_000;
export const RESEARCH_TOKENS_MAX = 100_000_000;
export const RESEARCH_MINUTES_DEFAULT = 30;
export const RESEARCH_MINUTES_MAX = 1_440;

/** Unfinished runs of a key, and of a workspace in a region; configurable. Beyond: 429. */
export const RESEARCH_RUNS_PER_KEY_DEFAULT = 2;
export const RESEARCH_RUNS_PER_WORKSPACE_DEFAULT = 4;

/** Texts that the recognition of files continues side by side; the value of Whisper's reference implementation. */
export const BEAM_WIDTH_DEFAULT = 5;

/** Largest configurable number of these texts. Each takes up to 20 MB while it is recognized. Beyond: no start. */
export const BEAM_WIDTH_MAX = 10;

/** Free share of the disk of the data folder below which /ready reports it as nearly full. */
export const DISK_FREE_SHARE_MIN = 0.05;

/**
 * Days that a response, an ended batch, and a revoked or expired key are kept. Configurable. The first two are the periods
 * of OpenAI's responses and of the platform's batch lists. Beyond: the row is removed.
 */
export const RESPONSES_DAYS = 30;
export const BATCHES_DAYS = 30;
export const KEYS_DAYS = 90;
