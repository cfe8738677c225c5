// The optional parts of the service, one line each. Deleting a line and the folder that it names removes the capability.
export { codeInterpreter } from './capabilities/code-interpreter/code-interpreter-capability.ts';
export { pageReader } from './capabilities/page-reader/page-reader-capability.ts';
export { recognition } from './capabilities/recognition/recognition-capability.ts';
export { research } from './capabilities/research/research-capability.ts';
export { searchIndex } from './capabilities/search-index/search-index-capability.ts';
