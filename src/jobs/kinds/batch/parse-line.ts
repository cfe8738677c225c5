import { JSON_DEPTH_MAX, JSON_MEMBERS_MAX, JSON_VALUES_MAX } from '../../../core/limits.ts';
import { BATCH_CUSTOM_ID_CODE_POINTS_MAX } from './limits.ts';
import { findJsonExcess } from '../../../lib/find-json-excess.ts';
import type { InputLine } from './read-lines.ts';
import { isRecord } from '../../../lib/is-record.ts';

/** A line that can be run as a request. */
export interface BatchLine {
  readonly line: number;
  readonly customId: string;
  readonly model: string;
  /** Request body for the endpoint, as the line has it. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Size of the whole line. */
  readonly sizeBytes: number;
}

/** Why a line cannot be run; codes as in docs/wire/openai-compatible.md#batches, or of the same form. */
export interface LineError {
  readonly code: string;
  readonly message: string;
  /** Path of the field, such as `body.model`. */
  readonly param: string | undefined;
}

/** Result of parsing a line. */
export type ParsedLine =
  | { readonly type: 'valid'; readonly batchLine: BatchLine }
  | { readonly type: 'invalid'; readonly customId: string | undefined; readonly error: LineError };

/** Parses and checks a line on its own; `createLineValidator` adds the rules across lines. */
export function parseLine(input: InputLine, { endpoint }: { readonly endpoint: string }): ParsedLine {
  const value = input.type === 'text' ? parseJson(input.bytes) : undefined;
  const customId = isRecord(value) ? parseCustomId(value) : undefined;
  const createInvalid = (code: string, message: string, param?: string): ParsedLine => ({
    type: 'invalid',
    customId,
    error: { code, message, param },
  });

  if (input.type === 'unreadable') return createInvalid('invalid_json_line', input.reason);
  if (!isRecord(value)) return createInvalid('invalid_json_line', 'This line is not a JSON object.');
  const { custom_id: id, method, url, body } = value;
  if (id === undefined || id === null) return createInvalid(MISSING, 'custom_id is missing.', 'custom_id');
  if (customId === undefined) {
    const rule = `must be a string of 1 to ${BATCH_CUSTOM_ID_CODE_POINTS_MAX} characters`;
    return createInvalid('invalid_custom_id', `custom_id ${rule}.`, 'custom_id');
  }
  if (method === undefined) return createInvalid(MISSING, 'method is missing.', 'method');
  if (method !== 'POST') return createInvalid('invalid_method', 'method must be POST.', 'method');
  if (url === undefined) return createInvalid(MISSING, 'url is missing.', 'url');
  if (url !== endpoint) return createInvalid('url_not_found', formatUrlError(url, endpoint), 'url');
  if (body === undefined) return createInvalid(MISSING, 'body is missing.', 'body');
  if (!isRecord(body)) return createInvalid(INVALID, 'body must be an object.', 'body');
  const { model } = body;
  if (model === undefined || model === null) return createInvalid(MISSING, 'body.model is missing.', 'body.model');
  if (typeof model !== 'string') return createInvalid(INVALID, 'body.model must be a string.', 'body.model');
  for (const name of ['stream', 'background']) {
    if (isSet(body[name])) return createInvalid(INVALID, `body.${name} must be false in a batch.`, `body.${name}`);
  }
  return { type: 'valid', batchLine: { line: input.line, customId, model, body, sizeBytes: input.bytes.length } };
}

export interface LineValidatorOptions {
  /** Endpoint of the batch: each line must have it as `url`. */
  readonly endpoint: string;
  /** Returns whether the owner of the batch may use a model of this name. */
  readonly isModel: (name: string) => boolean;
}

/**
 * Creates a validator for the lines of one batch, to be called in order. In addition to the rules of `parseLine`, all
 * lines must have the model of the first, and custom_ids must be unique. Keeps the custom_ids of up to BATCH_LINES_MAX
 * lines.
 */
export function createLineValidator({ endpoint, isModel }: LineValidatorOptions): (input: InputLine) => ParsedLine {
  const customIds = new Set<string>();
  let model: string | undefined;
  return (input) => {
    const parsed = parseLine(input, { endpoint });
    const customId = parsed.type === 'valid' ? parsed.batchLine.customId : parsed.customId;
    const createInvalid = (code: string, message: string, param: string): ParsedLine => ({
      type: 'invalid',
      customId,
      error: { code, message, param },
    });
    if (customId !== undefined) {
      if (customIds.has(customId))
        return createInvalid('duplicate_custom_id', 'An earlier line has this custom_id.', 'custom_id');
      customIds.add(customId);
    }
    if (parsed.type === 'invalid') return parsed;
    const requestedModel = parsed.batchLine.model;
    if (requestedModel !== model && !isModel(requestedModel)) {
      const shown = requestedModel.slice(0, 100).toWellFormed();
      return createInvalid('model_not_found', `The model '${shown}' does not exist.`, 'body.model');
    }
    model ??= requestedModel;
    if (requestedModel !== model) {
      const rule = `All lines must have the model of the first line, '${model}'.`;
      return createInvalid('mismatched_model', rule, 'body.model');
    }
    return parsed;
  };
}

const MISSING = 'missing_required_parameter';
const INVALID = 'invalid_parameter_error';

/** Returns undefined if the value is not a valid custom_id. */
function parseCustomId({ custom_id: id }: Readonly<Record<string, unknown>>): string | undefined {
  const isId = typeof id === 'string' && id !== '' && Array.from(id).length <= BATCH_CUSTOM_ID_CODE_POINTS_MAX;
  return isId ? id : undefined;
}

/** Null counts as unset, as in the endpoints. */
const isSet = (flag: unknown): boolean => flag !== undefined && flag !== null && flag !== false;

/** Formats the message for an unsupported URL as in docs/wire/openai-compatible.md#batches. */
function formatUrlError(url: unknown, endpoint: string): string {
  const shown = typeof url === 'string' ? url.slice(0, 200).toWellFormed() : typeof url;
  return `The provided url '${shown}' is not supported by the Batch API. This batch is for '${endpoint}'.`;
}

/**
 * Returns undefined if the JSON is invalid or exceeds the limits of request bodies, which are checked before parsing.
 */
function parseJson(bytes: Buffer): unknown {
  // The body may be as deep as a request body; the line adds one level.
  const limits = { valuesMax: JSON_VALUES_MAX, membersMax: JSON_MEMBERS_MAX, depthMax: JSON_DEPTH_MAX + 1 };
  if (findJsonExcess(bytes, limits) !== undefined) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return value;
  } catch {
    return undefined;
  }
}
