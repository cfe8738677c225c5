import { describePythonCases } from './python-cases.ts';

describePythonCases('instructor', {
  client: 'instructor',
  script: 'instructor_cases.py',
  models: ['svc-tiny'],
  parleys: { '': { withTinyModel: true } },
  cases: [
    'gets an object in the mode TOOLS',
    'gets an object in the mode TOOLS_STRICT',
    'gets an object in the mode JSON_SCHEMA',
    'streams growing partial objects',
    'raises IncompleteOutputException when the token limit cuts an object',
  ],
});
