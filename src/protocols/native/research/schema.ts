import { z } from 'zod';
import { GenerationBody, Parameters } from '../generation/schema.ts';

/** interfaces.txt E4. */
const OUTPUT_FORMATS = ['model_detailed_report', 'model_summary_report'] as const;

const OutputFormat = z.enum(OUTPUT_FORMATS);

/** Where `output_format` stands depends on who writes the request: at the top, as documented, or where clients put what they do not know. */
export const ResearchBody = GenerationBody.extend({
  output_format: OutputFormat.nullish(),
  parameters: Parameters.extend({ output_format: OutputFormat.nullish() }).nullish(),
});

export type ResearchWire = z.output<typeof ResearchBody>;
export type WireOutputFormat = (typeof OUTPUT_FORMATS)[number];
