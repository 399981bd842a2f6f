namespace broken {

class Before {
 public:
  int value;
};

int Unclosed(int x {
  return ;

class After {
 public:
  void Fine();
 private:
  int count_;
};

void AlsoFine() {}

}  // namespace broken

class UNKNOWN(3 Lost {
  int x;
};

struct unknown_word Odd {
  int y;
  int z() { return y; }
};
