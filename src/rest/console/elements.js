// Reads the first elements of a long JSON array, without the rest of it.

// Follows JSON as it arrives, and finds where the elements of the outermost array end.
class Elements {
  depth = 0;
  isText = false;
  isEscaped = false;
  ends = [];
  #at = 0;

  read(part) {
    for (const character of part) {
      this.#at += character.length;
      if (this.isEscaped) this.isEscaped = false;
      else if (this.isText && character === "\\") this.isEscaped = true;
      else if (character === '"') this.isText = !this.isText;
      else if (this.isText) continue;
      else if ("[{".includes(character)) this.depth++;
      else if ("]}".includes(character) && --this.depth === 1) this.ends.push(this.#at);
    }
  }
}

// The text of an answer. If it is an array of more than `most` elements and a last one, which says that
// it was the last, or of more than so many characters, it ends early: with the elements that fit, one
// at least.
export async function firstElements(response, most, characters, onPart) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const elements = new Elements();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    onPart();
    const part = decoder.decode(value, { stream: !done });
    text += part;
    if (Number.isFinite(most)) elements.read(part);
    const fitting = elements.ends.findLast((end, at) => at === 0 || (at < most && end <= characters));
    const isTooMuch = elements.ends.length > most + 1 || (text.length > characters && !done);
    if (isTooMuch && fitting && text.startsWith("[")) {
      await reader.cancel();
      return { text: `${text.slice(0, fitting)}]`, isCut: true };
    }
    if (done) return { text, isCut: false };
  }
}
