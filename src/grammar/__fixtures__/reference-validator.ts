import addFormats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { JsonSchema } from '../../core/grammar.ts';

/** Creates a validator by another implementation (Ajv). */
export function createReferenceValidator(): (schema: JsonSchema) => (value: unknown) => boolean {
  const ajv = new Ajv2020({
    strict: false,
    logger: false,
    // Makes names such as `constructor` ordinary; otherwise every object seems to have them.
    ownProperties: true,
    multipleOfPrecision: 9,
    validateSchema: false,
  });
  addFormats.default(ajv);
  return (schema) => {
    const validate = ajv.compile(schema);
    if (typeof schema === 'object') ajv.removeSchema(schema);
    return (value) => validate(value);
  };
}
