import { z } from 'zod';
import { ServiceError } from '../core/error.ts';
import { SEED_MAX } from '../core/limits.ts';
import { REGION_IDS } from '../core/region.ts';
import { WEIGHTS_TASKS } from '../core/weights.ts';
import { parsePartName } from '../core/split-model-file.ts';
import type { ServerKind } from '../core/server-kind.ts';
import { FAMILIES, isFamilyName } from './families/families.ts';
import { MODEL_INTERFACES } from './model.ts';
import { REMOTE_QUALIFIERS, remoteFields } from './remote-schema.ts';

/*
 * Schema of the shipped data file and of the operator's sections `models`, `weights` and `aliases`. Unknown keys are
 * rejected, so that misspelled ones are reported.
 */

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hexadecimal digits');

const family = z.string().refine(isFamilyName, {
  error: () => `must be one of ${Object.keys(FAMILIES).join(', ')}`,
});

/** Names of weights are used as file names. Names of models may also contain "/", as in `owner/model`. */
const weightsName = z.string().regex(/^[A-Za-z0-9][\w.-]{0,127}$/, 'must be letters, digits, ".", "_" or "-"');
const modelName = z
  .string()
  .regex(/^[A-Za-z0-9][\w./:-]{0,127}$/, 'must be letters, digits, ".", "_", "-", ":" or "/"');

const sampling = z.strictObject({
  temperature: z.number().min(0).lt(2).exactOptional(),
  topP: z.number().gt(0).max(1).exactOptional(),
  topK: z.int().min(0).exactOptional(),
  minP: z.number().min(0).max(1).exactOptional(),
  repetitionPenalty: z.number().gt(0).exactOptional(),
  presencePenalty: z.number().min(-2).max(2).exactOptional(),
  frequencyPenalty: z.number().min(-2).max(2).exactOptional(),
  seed: z.int().min(0).max(SEED_MAX).exactOptional(),
});

const abilities = z.strictObject({
  thinking: z.enum(['native', 'prompted', 'none']).exactOptional(),
  tools: z.boolean().exactOptional(),
  vision: z.boolean().exactOptional(),
  audio: z.boolean().exactOptional(),
  logprobs: z.boolean().exactOptional(),
  fillInTheMiddle: z.boolean().exactOptional(),
});

/** A split model file is named by its first part. */
const isWholeOrFirstPart = (file: string): boolean => (parsePartName(file)?.part ?? 1) === 1;

const FIRST_PART = 'is a later part of a split model: name its first part, -00001-of-…';

/** One hash, or for a split file one for each part, in order. */
const fileHashes = z.union([sha256, z.array(sha256).min(1)]);

const hubFile = z
  .string()
  .regex(/^[^\s/][^\s]*\.gguf$/i, 'must name a .gguf file')
  .refine((file) => !file.split('/').includes('..'), 'must not contain ".."')
  .refine(isWholeOrFirstPart, FIRST_PART);

const repository = z.string().regex(/^[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*$/, 'must be owner/repository');

const wheelParts = z
  .array(z.strictObject({ package: z.string().min(1), version: z.string().min(1), member: z.string().min(1) }))
  .min(1);

const source = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('hub'),
    repository,
    file: hubFile,
    revision: z.string().min(1).default('main'),
    sha256: fileHashes.exactOptional(),
    trust: z.boolean().exactOptional(),
  }),
  z.strictObject({
    type: z.literal('packages'),
    sha256,
    parts: wheelParts,
  }),
  z.strictObject({ type: z.literal('file'), path: z.string().min(1) }),
]);

const folderFileName = weightsName;

/** A file that is joined from parts. `sha256` is the hash of the joined file. */
const joinedFile = z.strictObject({ sizeBytes: z.int().positive(), sha256, parts: wheelParts });

/** Several files that form one set of weights, for the engine that is installed on demand. */
const folder = z
  .strictObject({
    task: z.enum(WEIGHTS_TASKS),
    files: z.record(folderFileName, joinedFile),
    conversion: z
      .strictObject({
        layout: z.literal('ct2-whisper'),
        source: joinedFile,
        files: z.record(folderFileName, z.strictObject({ sizeBytes: z.int().positive(), sha256 })),
      })
      .exactOptional(),
  })
  .refine(({ files, conversion }) => conversion === undefined || 'config.json' in files, {
    error: 'a conversion needs the config.json of its model',
    path: ['files'],
  });
export type FolderRecord = z.infer<typeof folder>;

/** Context length of weights that state none, until an engine has read their file. */
export const WEIGHTS_CONTEXT_TOKENS = 32_768;

const weightsRecord = z.strictObject({
  sizeBytes: z.int().positive().exactOptional(),
  /** Parameters, and those of them that are used for each token: fewer in a mixture of experts. */
  parameters: z.int().positive().exactOptional(),
  activeParameters: z.int().positive().exactOptional(),
  cacheBytesPerToken: z.int().positive().exactOptional(),
  licence: z.string().min(1).default('not stated'),
  contextTokensMax: z.int().positive().default(WEIGHTS_CONTEXT_TOKENS),
  family: family.default('template'),
  abilities: abilities.default({}),
  /** The model tends to repeat a call whose result it already has: see generation/repeated-calls.ts. */
  repeatsCalls: z.boolean().default(false),
  sampling: sampling.default({}),
  /** Sources of a single model file. */
  sources: z.array(source).min(1).exactOptional(),
  folder: folder.exactOptional(),
});
const weights = weightsRecord.refine(
  ({ sources, folder: given }) => (sources === undefined) !== (given === undefined),
  {
    error: 'needs either sources or a folder',
  },
);
export type WeightsRecord = z.infer<typeof weights>;

/** `owner/repo/file.gguf` or `owner/repo:file.gguf`. */
const hubReference = z.string().transform((text, context) => {
  const match = /^([^/:\s]+\/[^/:\s]+)[/:](.+)$/.exec(text);
  const parsed = match && z.object({ repository, file: hubFile }).safeParse({ repository: match[1], file: match[2] });
  if (parsed?.success) return parsed.data;
  const why = parsed?.error.issues[0]?.message;
  context.addIssue(`must be owner/repository/file.gguf${why ? ` (${why})` : ''}`);
  return z.NEVER;
});

/** A LoRA adapter: its file or folder, with the factor of its effect. */
const adapter = z.union([
  z
    .string()
    .min(1)
    .transform((path) => ({ path })),
  z.strictObject({ path: z.string().min(1), scale: z.number().exactOptional() }),
]);

/** Most tokens that an evaluation may draft: with the tokens of all sequences, they fit into one batch of the library. */
const DRAFT_TOKENS_MAX = 64;

/** Drafts of `ngram` copy what followed the last tokens earlier in the context. */
const speculative = z.strictObject({
  method: z.literal('ngram'),
  tokens: z.int().min(1).max(DRAFT_TOKENS_MAX).default(8),
});

const model = z
  .strictObject({
    /** Id of weights in the catalogue. */
    weights: z.string().exactOptional(),
    /** File on the model hub, with optional `revision`, `sha256` and `trust`. */
    hub: hubReference.exactOptional(),
    revision: z.string().min(1).exactOptional(),
    sha256: fileHashes.exactOptional(),
    /** Whether the file may be downloaded although neither this entry nor the hub states its hash. */
    trust: z.boolean().exactOptional(),
    /** Path of a local model file. */
    path: z.string().min(1).refine(isWholeOrFirstPart, FIRST_PART).exactOptional(),
    ...remoteFields,
    /** LoRA adapters by the names of the models that they become. */
    adapters: z.record(modelName, adapter).exactOptional(),
    /** Speculative decoding in the embedded engine. */
    speculative: speculative.exactOptional(),
    /** Reason why nothing runs the model. */
    none: z.string().min(1).exactOptional(),
    family: family.exactOptional(),
    description: z.string().exactOptional(),
    licence: z.string().min(1).exactOptional(),
    contextTokens: z.int().positive().exactOptional(),
    abilities: abilities.exactOptional(),
    repeatsCalls: z.boolean().exactOptional(),
    interfaces: z.array(z.enum(MODEL_INTERFACES)).min(1).exactOptional(),
    regions: z.array(z.enum(REGION_IDS)).min(1).exactOptional(),
    sampling: sampling.exactOptional(),
    maxThinkingTokens: z.int().positive().exactOptional(),
    languages: z.enum(['all', 'lite']).exactOptional(),
    cumulative: z.boolean().exactOptional(),
    created: z.int().nonnegative().exactOptional(),
  })
  .superRefine((entry, context) => {
    const given = RUNNER_KEYS.filter((key) => entry[key] !== undefined);
    const isFileForProgram = given.length === 2 && given.includes('command') && given.some(isModelFile);
    if (given.length > 1 && !isFileForProgram)
      context.addIssue(
        `has ${given.join(' and ')}: set one of ${RUNNER_KEYS.join(', ')}, or a model file with command`,
      );
    const continuesFromTokens =
      entry.server === undefined ? isPreset(entry.command) : TOKEN_SERVERS.includes(entry.server);
    if (entry.input === 'prompt' && !continuesFromTokens)
      context.addIssue({ code: 'custom', path: ['server'], message: PROMPT_SERVER });
    for (const [key, owners] of QUALIFIERS) {
      if (entry[key] !== undefined && owners.every((owner) => entry[owner] === undefined))
        context.addIssue({ code: 'custom', path: [key], message: `requires ${owners.join(' or ')}` });
    }
  });
export type ModelRecord = z.infer<typeof model>;

/** Keys that name the runner of a model: exactly one of them, or `command` with a model file that the program loads. */
export const RUNNER_KEYS = ['weights', 'hub', 'path', 'url', 'command', 'none'] as const;

/** Kinds of servers that continue a prompt of tokens. A program preset is of the kind of its name. */
const TOKEN_SERVERS: readonly string[] = ['llama-server', 'vllm', 'sglang'] satisfies readonly ServerKind[];

const PROMPT_SERVER = `must be one of ${TOKEN_SERVERS.join(', ')} when input is prompt`;

const isPreset = (command: string | readonly string[] | undefined): boolean =>
  typeof command === 'string' && TOKEN_SERVERS.includes(command);

const isModelFile = (key: (typeof RUNNER_KEYS)[number]): boolean => ['weights', 'hub', 'path'].includes(key);

const QUALIFIERS = [
  ['revision', ['hub']],
  ['sha256', ['hub']],
  ['trust', ['hub']],
  ['speculative', ['weights', 'hub', 'path']],
  ['adapters', ['weights', 'hub', 'path', 'command']],
  ...REMOTE_QUALIFIERS,
] as const;

/** A string in `weights` is another name for weights. `aliases` are tried in the given order. */
const catalogueSchema = z.strictObject({
  models: z.record(modelName, model).default({}),
  weights: z.record(weightsName, z.union([weightsName, weights])).default({}),
  aliases: z.record(z.string().min(1), z.string().min(1)).default({}),
});
export type CatalogueRecord = z.infer<typeof catalogueSchema>;

/**
 * Parses the operator's sections (`models`, `weights`, `aliases`, all optional) or a whole data file.
 * @throws ServiceError `invalid-request` with the path of each invalid value, e.g. `models.x.contextTokens`.
 */
export function parseCatalogueAdditions(value: unknown): CatalogueRecord {
  const given = typeof value === 'object' && value !== null ? omitEmpty(value) : (value ?? {});
  const parsed = catalogueSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.flatMap((issue) => toProblems(issue));
  throw new ServiceError('invalid-request', problems.map(({ path, message }) => `${path}: ${message}`).join('\n'), {
    param: problems[0]?.path,
  });
}

/** Removes empty sections of a YAML file, which are null. */
const omitEmpty = (sections: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(sections).filter(([, section]) => section !== null && section !== undefined));

interface RecordProblem {
  readonly path: string;
  readonly message: string;
}

/** Reports the deepest problem of a union: the member that is not a plain string is probably the intended one. */
function toProblems(issue: z.core.$ZodIssue, prefix: readonly PropertyKey[] = []): RecordProblem[] {
  const path = [...prefix, ...issue.path];
  if (issue.code === 'invalid_union') {
    const deepest = issue.errors.toSorted((a, b) => depth(b) - depth(a))[0];
    if (deepest && depth(deepest) > 0) return deepest.flatMap((inner) => toProblems(inner, [...prefix, ...issue.path]));
  }
  // An invalid key of a record is reported as an issue that contains issues.
  const inner = issue.code === 'invalid_key' ? issue.issues[0]?.message : undefined;
  return [{ path: path.map(String).join('.') || 'catalogue', message: inner ?? issue.message }];
}

const depth = (issues: readonly z.core.$ZodIssue[]): number =>
  issues.reduce((most, issue) => Math.max(most, issue.path.length + (issue.code === 'unrecognized_keys' ? 1 : 0)), 0);
