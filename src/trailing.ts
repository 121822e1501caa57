/** A text without the signs at its end, in linear time: a regular expression such as `/0+$/` takes the square of it. */
export function withoutTrailing(text: string, sign: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === sign) end--;
  return text.slice(0, end);
}
