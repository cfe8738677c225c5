/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Ms for a unit of a deployment to generate its first token. Beyond: the unit is not ready. */
export const DEPLOYMENT_PROBE_MS_MAX = 60_000;

/** Ms for the remaining upstream servers to respond once enough have. Beyond: they are not used. */
export const DEPLOYMENT_SERVERS_GRACE_MS = 2_000;

/** Ms for an engine to start; large models load for minutes. Beyond: it is probed for a token, and fails. */
export const DEPLOYMENT_START_MS_MAX = 1_800_000;

/** Ms between health checks of the engines of deployments; the maximum age of `ready_capacity`. */
export const DEPLOYMENT_MONITOR_MS = 1_000;

/** Sequences of one context (limit of llama.cpp). Beyond: the deployment gets fewer units. */
export const DEPLOYMENT_SEQUENCES_MAX = 256;

/** Tokens of a unit's context where none is configured and memory lacks for longer ones. Beyond: there are fewer units. */
export const DEPLOYMENT_CONTEXT_TOKENS_MIN = 8_192;

/** Server processes of one deployment on one machine. Beyond: the deployment gets fewer units. */
export const DEPLOYMENT_PROGRAMS_MAX = 64;

/** Bytes of memory that deployments leave to other programs. Beyond: they get fewer units. */
export const DEPLOYMENT_MEMORY_RESERVE_BYTES = 512 * 2 ** 20;

/** The same as a share of the machine's memory; the larger of both applies. */
export const DEPLOYMENT_MEMORY_RESERVE_SHARE = 0.1;

/**
 * Estimated bytes of an engine process besides weights and contexts, and of each unit besides its context. Measured:
 * 300 to 405 MiB with vocabularies of 49,000 and 152,000 tokens, and 1 to 3 MiB; increased by a safety margin.
 */
export const DEPLOYMENT_ENGINE_BYTES = 512 * 2 ** 20;
export const DEPLOYMENT_UNIT_BYTES = 4 * 2 ** 20;
