import { z } from 'zod';
import { GenerationBody, Parameters } from '../../../protocols/native/generation/schema.ts';

/** Values of `output_format` (docs/wire/dashscope-native.md#deep-research-request). */
const OUTPUT_FORMATS = ['model_detailed_report', 'model_summary_report'] as const;

const OutputFormat = z.enum(OUTPUT_FORMATS);

/** `output_format` is accepted at the top level, as documented, and in `parameters`, where some clients put it. */
export const ResearchBody = GenerationBody.extend({
  output_format: OutputFormat.nullish(),
  parameters: Parameters.extend({ output_format: OutputFormat.nullish() }).nullish(),
});

export type ResearchWire = z.output<typeof ResearchBody>;
export type ReportFormatWire = (typeof OUTPUT_FORMATS)[number];
