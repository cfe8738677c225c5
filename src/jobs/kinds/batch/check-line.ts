import { BATCH_CUSTOM_ID_CODE_POINTS_MAX, JSON_DEPTH_MAX, JSON_VALUES_MAX } from '../../../core/limits.ts';
import { isDeeperThan } from '../../../lib/json-depth.ts';
import { hasMoreValues } from '../../../lib/json-values.ts';
import type { InputLine } from './read-lines.ts';

/** A line that can be run. */
export interface Task {
  readonly line: number;
  readonly customId: string;
  readonly model: string;
  /** What the endpoint is asked, as the line has it. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Of the whole line. */
  readonly sizeBytes: number;
}

/** Why a line cannot be run; codes of wire.md E9.3, and in their manner. */
export interface LineFault {
  readonly code: string;
  readonly message: string;
  /** Its field, as `body.model`. */
  readonly param: string | undefined;
}

export type ReadTask =
  | { readonly type: 'task'; readonly task: Task }
  | { readonly type: 'fault'; readonly customId: string | undefined; readonly fault: LineFault };

/** What a line has to say by itself; what it must not say beside others is `createLineCheck`'s matter. */
export function readTask(input: InputLine, { endpoint }: { readonly endpoint: string }): ReadTask {
  const value = input.type === 'text' ? parse(input.bytes) : undefined;
  const customId = isObject(value) ? idOf(value) : undefined;
  const refuse = (code: string, message: string, param?: string): ReadTask => ({
    type: 'fault',
    customId,
    fault: { code, message, param },
  });

  if (input.type === 'unreadable') return refuse('invalid_json_line', input.why);
  if (!isObject(value)) return refuse('invalid_json_line', 'This line is not a JSON object.');
  const { custom_id: id, method, url, body } = value;
  if (id === undefined || id === null) return refuse(MISSING, 'custom_id is missing.', 'custom_id');
  if (customId === undefined) {
    const rule = `must be a string of 1 to ${BATCH_CUSTOM_ID_CODE_POINTS_MAX} characters`;
    return refuse('invalid_custom_id', `custom_id ${rule}.`, 'custom_id');
  }
  if (method === undefined) return refuse(MISSING, 'method is missing.', 'method');
  if (method !== 'POST') return refuse('invalid_method', 'method must be POST.', 'method');
  if (url === undefined) return refuse(MISSING, 'url is missing.', 'url');
  if (url !== endpoint) return refuse('url_not_found', urlText(url, endpoint), 'url');
  if (body === undefined) return refuse(MISSING, 'body is missing.', 'body');
  if (!isObject(body)) return refuse(INVALID, 'body must be an object.', 'body');
  const { model } = body;
  if (model === undefined || model === null) return refuse(MISSING, 'body.model is missing.', 'body.model');
  if (typeof model !== 'string') return refuse(INVALID, 'body.model must be a string.', 'body.model');
  for (const name of ['stream', 'background']) {
    if (isSaid(body[name])) return refuse(INVALID, `body.${name} must be false in a batch.`, `body.${name}`);
  }
  return { type: 'task', task: { line: input.line, customId, model, body, sizeBytes: input.bytes.length } };
}

export interface LineRules {
  /** Of the batch: what each line has as its url. */
  readonly endpoint: string;
  /** Whether there is such a model for whom the batch belongs to. */
  readonly isModel: (name: string) => boolean;
}

/**
 * Checks the lines of one batch, in their order: beside `readTask`'s rules, all have the model of the first, and each a
 * custom_id of its own. It holds the custom_ids of all lines, of which there are BATCH_LINES_MAX at most.
 */
export function createLineCheck({ endpoint, isModel }: LineRules): (input: InputLine) => ReadTask {
  const seen = new Set<string>();
  let model: string | undefined;
  return (input) => {
    const read = readTask(input, { endpoint });
    const customId = read.type === 'task' ? read.task.customId : read.customId;
    const refuse = (code: string, message: string, param: string): ReadTask => ({
      type: 'fault',
      customId,
      fault: { code, message, param },
    });
    if (customId !== undefined) {
      if (seen.has(customId)) return refuse('duplicate_custom_id', 'An earlier line has this custom_id.', 'custom_id');
      seen.add(customId);
    }
    if (read.type === 'fault') return read;
    const asked = read.task.model;
    if (asked !== model && !isModel(asked)) {
      const shown = asked.slice(0, 100).toWellFormed();
      return refuse('model_not_found', `The model '${shown}' does not exist.`, 'body.model');
    }
    model ??= asked;
    if (asked !== model) {
      const rule = `All lines must have the model of the first, '${model}'.`;
      return refuse('mismatched_model', rule, 'body.model');
    }
    return read;
  };
}

const MISSING = 'missing_required_parameter';
const INVALID = 'invalid_parameter_error';

/** Undefined where it is none. */
function idOf({ custom_id: id }: Readonly<Record<string, unknown>>): string | undefined {
  const isId = typeof id === 'string' && id !== '' && Array.from(id).length <= BATCH_CUSTOM_ID_CODE_POINTS_MAX;
  return isId ? id : undefined;
}

/** As endpoints take it: null says nothing. */
const isSaid = (flag: unknown): boolean => flag !== undefined && flag !== null && flag !== false;

/** wire.md E9.3 for what is no endpoint of a batch. */
function urlText(url: unknown, endpoint: string): string {
  const shown = typeof url === 'string' ? url.slice(0, 200).toWellFormed() : typeof url;
  return `The provided url '${shown}' is not supported by the Batch API. This batch is for '${endpoint}'.`;
}

/** Undefined where it is none that any endpoint would take: as bodies of requests, it is bounded before it is made. */
function parse(bytes: Buffer): unknown {
  if (hasMoreValues(bytes, JSON_VALUES_MAX)) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString());
    // The body may be as deep as one of a request; the line is one around it.
    return isDeeperThan(value, JSON_DEPTH_MAX + 1) ? undefined : value;
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
