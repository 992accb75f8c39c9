// An exercise: questions about the scenario, whose answers are checked here, with the record of a run where it takes one.

const makeExercise = (box) => {
  let goals = [];
  let original = "";
  const makeQuestion = (question) => {
    const verdict = make("output", { className: "verdict" });
    let isSolved = false;
    const judge = (isRight, text) => {
      // Runs for the next question leave this one as it is.
      if (isSolved) return;
      isSolved = isRight;
      verdict.className = isRight ? "verdict right" : "verdict";
      verdict.textContent = isRight ? `✓ ${text} ${question.because}` : text;
    };
    if (question.goal) {
      goals.push({ question, judge });
      return make("li", {}, make("p", {}, question.text), verdict);
    }
    const input = make("input", { inputMode: "decimal", autocomplete: "off", ariaLabel: "Answer" });
    const form = make("form", { className: "row" }, input, make("button", { type: "submit" }, "Check"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const given = Number(input.value.replace(",", ".").replaceAll(" ", ""));
      const isNear = ({ answer }) => Math.abs(given / answer - 1) <= question.within;
      const mistake = question.wrong.find(isNear);
      if (!input.value.trim() || !Number.isFinite(given)) judge(false, "A number, please.");
      else if (isNear(question)) judge(true, "Right.");
      else if (mistake) judge(false, mistake.hint);
      else judge(false, given < question.answer ? "More than that." : "Less than that.");
    });
    return make("li", {}, make("p", {}, question.text), form, verdict);
  };
  const shown = ({ scale, unit }, value) => `${Number((value * scale).toPrecision(3))} ${unit}`;
  const outcome = (goal, { flows }) => {
    const value = flows[goal.column][flows.flow.indexOf(goal.flow)] ?? NaN;
    const holds = value * goal.scale <= (goal.most ?? Infinity) && value * goal.scale >= (goal.least ?? -Infinity);
    const bounds = ["least", "most"].filter((bound) => goal[bound] !== undefined).map((bound) => `at ${bound} ${goal[bound]}`);
    return { holds, text: `${goal.label}: ${shown(goal, value)} (${bounds.join(", ")} ${goal.unit}).` };
  };
  // The lines that a question leaves as they are: comments, and the keys that it is about, may change.
  const fixed = (text, keys) => {
    const lines = text.split("\n").map((line) => line.split("#")[0].trim());
    return lines.filter((line) => line && !keys.includes(line.split("=")[0].trim()));
  };
  // What is not as the question has it; nothing if all is.
  const difference = (text, { change, never }) => {
    const [here, there] = [fixed(text, change), fixed(original, change)];
    const n = here.findIndex((line, n) => line !== there[n]);
    if (here.length > there.length) return `Without ${here[n]}, please.`;
    if (n >= 0 || here.length < there.length) return `The question is about ${there[n < 0 ? here.length : n]}.`;
    const refused = never?.find((part) => text.includes(part));
    return refused ? `Without ${refused}, please.` : "";
  };
  return {
    // Shows the questions about an example with that text; none without questions.
    show: (exercise, text) => {
      [goals, original] = [[], text];
      box.hidden = !exercise;
      box.replaceChildren();
      if (!exercise) return;
      box.append(make("h2", {}, `Exercise: ${exercise.title}`), make("p", {}, exercise.text), make("ol", {}, ...exercise.question.map(makeQuestion)));
    },
    // Judges a run of that text by its record.
    judge: (text, record) => {
      if (!goals.length) return;
      const { tables } = JSON.parse(new TextDecoder().decode(record));
      for (const { question, judge } of goals) {
        const other = difference(text, question);
        const outcomes = other ? [] : question.goal.map((goal) => outcome(goal, tables));
        judge(!other && outcomes.every((each) => each.holds), other || outcomes.map((each) => each.text).join(" "));
      }
    },
  };
};
