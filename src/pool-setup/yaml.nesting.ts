import { Lexer } from 'yaml';

const MAX_FLOW_LEVELS = 32;
const MAX_INDICATORS_A_LINE = 32;
const MAX_INDENT = 128;
/** Stands before the text of a plain or block scalar. */
const SCALAR = '\u001F';

/** Whether a YAML text nests deeper than a parser that calls itself can follow; looked at token by token, in linear time. */
export function nestsTooDeep(text: string): boolean {
  let flow = 0;
  let indicators = 0;
  let before = '\n';
  for (const token of new Lexer().lex(text)) {
    if (before !== SCALAR) {
      if (token === '[' || token === '{') flow++;
      else if (token === ']' || token === '}') flow--;
      else if (flow <= 0 && (token === '-' || token === '?' || token === ':')) indicators++;
      else if (/^\r?\n$/.test(token)) indicators = 0;
      else if (/^\r?\n$/.test(before) && /^ +$/.test(token) && token.length > MAX_INDENT) return true;
    }
    if (flow > MAX_FLOW_LEVELS || indicators > MAX_INDICATORS_A_LINE) return true;
    before = token;
  }
  return false;
}
