"""VQA's consensus accuracy as it is written down, step by step, in loops: what the fast one is held against."""

MARKS = r"""; / [ ] " { } ( ) = + \ _ - > < @ ` , ? !""".split()

NUMBERS = dict(
    none="0",
    zero="0",
    one="1",
    two="2",
    three="3",
    four="4",
    five="5",
    six="6",
    seven="7",
    eight="8",
    nine="9",
    ten="10",
)

WHOLE = """
    ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't haven't he'd he'd've
    he's how'd how'll how's isn't it'd it'd've it'll ma'am might've mightn't mightn't've must've mustn't needn't not've
    o'clock oughtn't 'ow's'at shan't she'd've should've shouldn't shouldn't've somebody'd've somebody'll somebody's
    someone'd someone'd've someone'll someone's something'd something'd've something'll that's there'd there'd've
    there're there's they'd they'd've they'll they're they've 'twas wasn't we'd've we've weren't what'll what're what's
    what've when's where'd where's where've who'd who'd've who'll who's who've why'll why're why's won't would've
    wouldn't wouldn't've y'all y'all'd've y'all'll you'd you'd've you'll you're you've
""".split()


def step_1(text):
    return text.replace("\n", " ").replace("\t", " ").strip()


def step_3(text):
    result = text
    comma_between_digits = False
    for before, mark, after in zip(text, text[1:], text[2:], strict=False):
        if before.isdecimal() and mark == "," and after.isdecimal():
            comma_between_digits = True
    for mark in MARKS:
        if mark + " " in text or " " + mark in text or comma_between_digits:
            result = result.replace(mark, "")
        else:
            result = result.replace(mark, " ")
    return result


def step_4(text):
    result, gone = "", 0
    for index, mark in enumerate(text):
        if mark == "." and not text[index + 1 : index + 2].isdecimal() and gone < 32:
            gone += 1
        else:
            result += mark
    return result


def step_5(text):
    words = []
    for word in text.lower().split():
        word = NUMBERS.get(word, word)
        if word not in ("a", "an", "the"):
            words.append(word)
    return words


def step_6(words):
    result = []
    for word in words:
        for whole in WHOLE:
            if any(whole[:index] + whole[index + 1 :] == word for index in range(len(whole)) if whole[index] == "'"):
                word = whole
                break
        result.append("somebodyd" if word == "somebody'd" else word)
    return " ".join(result)


def steps_3_to_6(text):
    return step_6(step_5(step_4(step_3(text))))


def compared(prediction, records, protocol):
    """The prediction and the records as they are before they are compared."""
    if protocol == "2021":
        records = [{**record, "answer": step_1(record["answer"])} for record in records]
        prediction = step_1(prediction)
        if len({record["answer"] for record in records}) > 1:
            records = [{**record, "answer": steps_3_to_6(record["answer"])} for record in records]
            prediction = steps_3_to_6(prediction)
        return prediction, records
    prediction = steps_3_to_6(step_1(prediction))
    if len({record["answer"] for record in records}) > 1:
        records = [{**record, "answer": step_4(step_3(record["answer"]))} for record in records]
    return prediction, records


def score(prediction, answers, protocol="2021"):
    """A question's consensus accuracy; answers are records, or text of an annotator each."""
    records = [
        answer if isinstance(answer, dict) else {"annotator": annotator, "answer": answer}
        for annotator, answer in enumerate(answers)
    ]
    prediction, records = compared(prediction, records, protocol)
    total = 0.0
    for record in records:
        others = [other for other in records if other != record]
        total += min(1, len([other for other in others if other["answer"] == prediction]) / 3)
    return total / len(records)
