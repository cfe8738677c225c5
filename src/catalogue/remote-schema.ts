import { z } from 'zod';
import { SERVER_KINDS } from '../core/server-kind.ts';

/*
 * What an entry says of a server that runs its model: one elsewhere (`url`) or a program that we start (`command`).
 */

const address = z.url({ protocol: /^https?$/ });

/** Ours: more addresses than any one model of a team has; a larger list is a generated mistake. */
const ADDRESSES_MAX = 64;

/** A timer of the runtime counts no further. */
const TIMER_MS_MAX = 2_147_483_647;
const ms = z.int().min(1).max(TIMER_MS_MAX);

const variable = z.string().regex(/^[A-Za-z_]\w*$/, 'must be the name of an environment variable, not a key');

/** Each goes with `url`, with `command`, or with both: see QUALIFIERS. */
export const remoteFields = {
  /** A compatible server, or several that run the same model; with `upstreamModel` (else the same name). */
  url: z.union([address, z.array(address).min(1).max(ADDRESSES_MAX)]).exactOptional(),
  upstreamModel: z.string().min(1).exactOptional(),
  apiKeyEnv: variable.exactOptional(),
  /** A program of ours to start: `llama-server`, `vllm`, `sglang`, or its words, in which {port} and others stand. */
  command: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]).exactOptional(),
  /** Put behind the program's own. */
  args: z.array(z.string()).exactOptional(),
  environment: z.record(variable, z.string()).exactOptional(),
  /** How long it may take to come up, in s. */
  startSeconds: z.int().min(1).max(86_400).exactOptional(),
  /** What answers there; otherwise it is asked. */
  server: z.enum(SERVER_KINDS).exactOptional(),
  /** `chat`: the server renders the template and finds the calls. `prompt`: we do. */
  input: z.enum(['chat', 'prompt']).exactOptional(),
  /** A file with the template, for a server that is given prompts and does not tell its own. */
  chatTemplate: z.string().min(1).exactOptional(),
  /** Further fields of callers' bodies that the server knows. */
  forward: z.array(z.string().min(1)).exactOptional(),
  timeouts: z
    .strictObject({ connectMs: ms.exactOptional(), firstTokenMs: ms.exactOptional(), idleMs: ms.exactOptional() })
    .exactOptional(),
} as const;

/** Fields that say more of another one, and which: at least one of these has to be there. */
export const REMOTE_QUALIFIERS = [
  ['upstreamModel', ['url', 'command']],
  ['apiKeyEnv', ['url']],
  ['args', ['command']],
  ['environment', ['command']],
  ['startSeconds', ['command']],
  ['server', ['url', 'command']],
  ['input', ['url', 'command']],
  ['chatTemplate', ['url', 'command']],
  ['forward', ['url', 'command']],
  ['timeouts', ['url', 'command']],
] as const;
