import {
  findRefusal,
  getSuiteSkipReason,
  readRealSchemas,
  readSuite,
} from '../src/grammar/__fixtures__/official-suite.ts';
import { createUnusualTexts } from '../src/grammar/format-checks/__fixtures__/create-unusual-texts.ts';
import { isOfFormat } from '../src/grammar/format-checks/is-of-format.ts';
import { createSchemaCheck } from '../src/grammar/schema-check.ts';

/** Texts per format; the tests use other texts. */
const TEXTS = 1_000;

/** Measures on data from packages whether JSON schemas are held: no model is needed. */
export async function measureSchemaTruth(logProgress: (text: string) => void): Promise<string> {
  const skipReason = getSuiteSkipReason();
  if (skipReason !== false) throw new Error(`The benchmark needs data: ${skipReason}.`);
  const texts = Object.entries(createUnusualTexts(TEXTS));
  const accepted = texts.map(([format, each]) => `${format} ${each.filter((text) => isOfFormat(text, format)).length}`);
  logProgress('compiles real schemas');
  const real = readRealSchemas();
  return [
    `official suite, formats: ${countAgreements('formats')}`,
    `official suite, required: ${countAgreements('required')}`,
    `texts of unusual shape accepted, of ${TEXTS} per format: ${accepted.join(', ')}`,
    `schemas of configuration files compiled: ${countCompiled(real)} of ${real.length}`,
  ].join('\n');
}

function countAgreements(part: 'required' | 'formats'): string {
  const counts = { tests: 0, agree: 0, falseAccept: 0, falseReject: 0, refused: 0 };
  for (const { schema, tests } of readSuite(part)) {
    const refusal = findRefusal(schema);
    const check = refusal === undefined ? createSchemaCheck(schema) : undefined;
    for (const { data, valid } of tests) {
      counts.tests++;
      const isValid = check !== undefined && check(data) === undefined;
      // A schema without valid values is refused, which agrees with a test of an invalid value.
      if (check === undefined && !refusal?.startsWith('No value is valid')) counts.refused++;
      else if (isValid === valid) counts.agree++;
      else counts[isValid ? 'falseAccept' : 'falseReject']++;
    }
  }
  return `${counts.agree} of ${counts.tests} agree, ${counts.falseAccept} false accepts, ${counts.falseReject} false rejects, ${counts.refused} refused`;
}

const countCompiled = (schemas: ReturnType<typeof readRealSchemas>): number =>
  schemas.filter(({ schema }) => findRefusal(schema) === undefined).length;
