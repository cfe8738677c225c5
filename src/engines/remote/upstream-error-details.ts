import { z } from 'zod';

/** Error that an upstream reports in a response body or event. */
export interface UpstreamErrorDetails {
  readonly message?: string;
  /** HTTP status that the error names, for errors inside a 200 response. */
  readonly status?: number;
  /** The prompt is longer than the model's context, whatever the status says. */
  readonly isTooLong?: true;
}

const Code = z.union([z.int(), z.string()]).nullish().catch(undefined);

const WireError = z.object({
  message: z.string().nullish().catch(undefined),
  code: Code,
  status: Code,
  type: Code,
});

/** Error codes or types of OpenAI-compatible servers and of llama-server. */
const CONTEXT_EXCEEDED_CODES: readonly unknown[] = ['context_length_exceeded', 'exceed_context_size_error'];

/** Messages of llama-server (for a text to embed), and of vLLM and SGLang (for a prompt). */
const CONTEXT_EXCEEDED_MESSAGE =
  /^input \(\d+ tokens\) is too large to process|maximum (context|model) length|longer than the (maximum )?(model'?s? )?(context|allowed) length/i;

const WireErrorBody = WireError.extend({
  object: z.unknown().optional(),
  error: z.unknown().optional(),
  detail: z.unknown().optional(),
});

/** Finds the error in a body or an event, in the forms that servers use; undefined when there is none. */
export function findUpstreamError(value: unknown): UpstreamErrorDetails | undefined {
  const parsed = WireErrorBody.safeParse(value);
  if (!parsed.success) return undefined;
  const { error } = parsed.data;
  if (error) return parseErrorDetails(error);
  return parsed.data.object === 'error' ? parseErrorDetails(value) : undefined;
}

/** Parses the body of a response with an error status, whatever its form. */
export function parseErrorBody(value: unknown): UpstreamErrorDetails {
  const details = findUpstreamError(value) ?? parseErrorDetails(value);
  if (details.message !== undefined) return details;
  const detail = WireErrorBody.safeParse(value).data?.detail;
  return detail === undefined
    ? details
    : { ...details, message: typeof detail === 'string' ? detail : JSON.stringify(detail) };
}

function parseErrorDetails(errorValue: unknown): UpstreamErrorDetails {
  if (typeof errorValue === 'string') return { message: errorValue };
  const { message, code, status, type } = WireError.safeParse(errorValue).data ?? {};
  const httpStatus = [code, status].map(Number).find((number) => number >= 400 && number <= 599);
  const isTooLong =
    CONTEXT_EXCEEDED_CODES.includes(code) ||
    CONTEXT_EXCEEDED_CODES.includes(type) ||
    CONTEXT_EXCEEDED_MESSAGE.test(message ?? '');
  return {
    ...(message ? { message } : {}),
    ...(httpStatus === undefined ? {} : { status: httpStatus }),
    ...(isTooLong ? { isTooLong } : {}),
  };
}
