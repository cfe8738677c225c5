import { z } from 'zod';
import { SERVER_KINDS } from '../core/server-kind.ts';

/*
 * Fields of a model entry for a server that runs the model: a remote one (`url`), or a program that Parley starts
 * (`command`).
 */

const address = z.url({ protocol: /^https?$/ });

/** URLs of one model; more are probably a mistake of a generator. Beyond: rejected. */
const ADDRESSES_MAX = 64;

/** Longest delay of a timer in Node.js, in ms. */
const TIMER_MS_MAX = 2_147_483_647;
const ms = z.int().min(1).max(TIMER_MS_MAX);

const variable = z.string().regex(/^[A-Za-z_]\w*$/, 'must be the name of an environment variable, not a key');

/** REMOTE_QUALIFIERS lists the fields that need `url` or `command`. */
export const remoteFields = {
  /** URL of an OpenAI-compatible server, or of several that run the same model. */
  url: z.union([address, z.array(address).min(1).max(ADDRESSES_MAX)]).exactOptional(),
  upstreamModel: z.string().min(1).exactOptional(),
  apiKeyEnv: variable.exactOptional(),
  /** Program to start: `llama-server`, `vllm`, `sglang`, or program and arguments with placeholders such as {port}. */
  command: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]).exactOptional(),
  /** Appended to the program's arguments. */
  args: z.array(z.string()).exactOptional(),
  environment: z.record(variable, z.string()).exactOptional(),
  /** Projector file with which llama-server reads images. */
  mmproj: z.string().min(1).exactOptional(),
  /** Seconds that the program may take to start. */
  startSeconds: z.int().min(1).max(86_400).exactOptional(),
  /** Kind of the server. Default: detected by a query. */
  server: z.enum(SERVER_KINDS).exactOptional(),
  /** `chat`: the server renders the template and parses tool calls. `prompt`: Parley does. */
  input: z.enum(['chat', 'prompt']).exactOptional(),
  /** Template file, for a model file, or for a server with `input: prompt` that does not report its template. */
  chatTemplate: z.string().min(1).exactOptional(),
  /** Answers that each server runs at once. Default: what a llama-server reports; else no limit. */
  sequences: z.int().min(1).max(100_000).exactOptional(),
  /** Additional request fields that the server supports. */
  forward: z.array(z.string().min(1)).exactOptional(),
  timeouts: z
    .strictObject({ connectMs: ms.exactOptional(), firstTokenMs: ms.exactOptional(), idleMs: ms.exactOptional() })
    .exactOptional(),
} as const;

/** Fields with the fields of which at least one must be present. */
export const REMOTE_QUALIFIERS = [
  ['upstreamModel', ['url', 'command']],
  ['apiKeyEnv', ['url']],
  ['args', ['command']],
  ['environment', ['command']],
  ['mmproj', ['command']],
  ['startSeconds', ['command']],
  ['server', ['url', 'command']],
  ['input', ['url', 'command']],
  ['chatTemplate', ['url', 'command', 'weights', 'hub', 'path']],
  ['sequences', ['url', 'command']],
  ['forward', ['url', 'command']],
  ['timeouts', ['url', 'command']],
] as const;
