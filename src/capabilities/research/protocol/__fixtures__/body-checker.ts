import { z } from 'zod';

const count = z.int().min(0);

/** Every field of the specification and no other. */
const Body = z.strictObject({
  status_code: z.literal(200),
  request_id: z.string().min(1),
  code: z.literal(''),
  message: z.literal(''),
  output: z.strictObject({
    text: z.null(),
    finish_reason: z.enum(['stop', 'length']).nullable(),
    choices: z.null(),
    message: z.strictObject({
      phase: z.string(),
      role: z.literal('assistant'),
      content: z.string(),
      status: z.string(),
      extra: z.strictObject({ deep_research: z.looseObject({}) }),
    }),
    fininshed: z.boolean(),
    fininshed_reason: z.enum(['null', 'stop']),
  }),
  usage: z.strictObject({ input_tokens: count, output_tokens: count }),
});

export type CheckedResearchBody = z.output<typeof Body>;

interface BodyFaults {
  /** Absent if fields are missing or invalid. */
  readonly body?: CheckedResearchBody;
  readonly faults: readonly string[];
}

/** Creates a checker of the rules for the body of any event, and for the values that must not change between events. */
export function createBodyChecker(): (data: string, isLast: boolean) => BodyFaults {
  let requestId: string | undefined;
  let lastUsage = { input_tokens: 0, output_tokens: 0 };

  return (data, isLast) => {
    const parsed = Body.safeParse(parseJson(data));
    if (!parsed.success)
      return { faults: parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) };
    const { output, usage, request_id: id } = parsed.data;
    const faults: string[] = [];
    requestId ??= id;
    if (id !== requestId) faults.push('the request id changes');
    if (usage.input_tokens < lastUsage.input_tokens || usage.output_tokens < lastUsage.output_tokens)
      faults.push('the usage falls');
    lastUsage = usage;
    if (output.fininshed !== isLast) faults.push(`fininshed is ${output.fininshed}`);
    if (output.fininshed_reason !== (isLast ? 'stop' : 'null'))
      faults.push(`fininshed_reason is ${output.fininshed_reason}`);
    if ((output.finish_reason !== null) !== isLast) faults.push(`finish_reason is ${output.finish_reason}`);
    if (hasNull(output.message)) faults.push('a value is null');
    return { body: parsed.data, faults };
  };
}

function parseJson(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

const hasNull = (value: unknown): boolean =>
  value === null || (typeof value === 'object' && Object.values(value).some(hasNull));
